
"use strict";
// Lets the reader choose which features are shown, their order, the view, and the colours.
(() => {
  const root = document.documentElement;
  const collator = new Intl.Collator(undefined, { numeric: true });
  root.classList.add("scripted");

  const theme = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
  const nameTheme = () => { theme.textContent = isDark() ? "Light colours" : "Dark colours"; };
  theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; nameTheme(); });
  dark.addEventListener("change", nameTheme);
  nameTheme();

  // Makes a section with a table and charts of the same features interactive; a feature may have several rows.
  const listing = (section, data) => {
    const body = section.querySelector("table").tBodies[0];
    const rows = [...body.rows];
    const charts = [...section.querySelectorAll("svg[data-row]")].map((svg) => [svg, [...svg.querySelectorAll(".row")]]);
    const headings = [...section.querySelectorAll("th[data-key]")];
    const [search, many, count, none] = ["[type=search]", "select", ".count", ".none"].map((selector) => section.querySelector(selector));
    const first = section.querySelector("th[aria-sort]");
    const order = { key: first.dataset.key, descending: first.getAttribute("aria-sort") === "descending" };
    const feature = (row) => data.of ? data.of[row] : row;
    const words = rows.map((_, row) => `${data.names[feature(row)]}\n${data.others ? data.others[data.columns.other[row]] : ""}`.toLowerCase());

    const key = (row) => order.key === "name" ? data.names[feature(row)]
      : (data.columns[order.key] ?? data.views[root.dataset.view][order.key])[row];
    const compare = (a, b) => {
      const [left, right] = [key(a), key(b)];
      const sign = typeof left === "string" ? collator.compare(left, right) : left - right;
      return (order.descending ? -sign : sign) || a - b;
    };

    const selected = () => {
      const query = search ? search.value.trim().toLowerCase() : "";
      const matches = rows.map((_, row) => row).filter((row) => words[row].includes(query));
      const most = many ? Number(many.value) : 0;
      if (!most) return matches;
      const byRank = [...new Set(matches.map(feature))].sort((a, b) => data.rank[a] - data.rank[b]);
      const largest = new Set(byRank.slice(0, most));
      return matches.filter((row) => largest.has(feature(row)));
    };

    const draw = ([svg, bars], features) => {
      const [row, head, foot] = ["row", "head", "foot"].map((name) => Number(svg.dataset[name]));
      bars.forEach((bar) => bar.setAttribute("display", "none"));
      features.forEach((index, position) => {
        bars[index].removeAttribute("display");
        bars[index].setAttribute("transform", `translate(0 ${head + row * position})`);
      });
      svg.setAttribute("viewBox", `0 0 ${svg.viewBox.baseVal.width} ${head + row * features.length + foot}`);
    };

    const show = () => {
      const shown = selected().sort(compare);
      const features = [...new Set(shown.map(feature))];
      body.replaceChildren(...shown.map((row) => rows[row]));
      charts.forEach((chart) => draw(chart, features));
      if (count) count.textContent = `${features.length} of ${data.names.length} ${section.dataset.noun ?? "feature"}s shown`;
      if (none) none.hidden = shown.length > 0;
    };

    headings.forEach((heading) => heading.querySelector("button").addEventListener("click", () => {
      const isSame = order.key === heading.dataset.key;
      order.descending = isSame ? !order.descending : !("rises" in heading.dataset);
      order.key = heading.dataset.key;
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", order.descending ? "descending" : "ascending");
      show();
    }));
    if (search) search.addEventListener("input", show);
    if (many) many.addEventListener("change", show);
    show();
    return [show, rows];
  };

  // Describes the pixel of an image that the pointer or the arrow keys select.
  const image = (svg, places, rows) => {
    const side = svg.viewBox.baseVal.width;
    const rowOfPixel = [];
    places.forEach((pixel, row) => { rowOfPixel[pixel] = rows[row]; });
    const frame = svg.querySelector(".pointed");
    const description = svg.parentElement.querySelector(".pointed-at");
    let [x, y] = [0, 0];

    const text = (cell) => (cell.querySelector(`[data-of="${root.dataset.view}"]`) ?? cell).textContent;
    const point = (across, down) => {
      [x, y] = [across, down].map((number) => Math.min(Math.max(Math.floor(number), 0), side - 1));
      const [name, ...cells] = rowOfPixel[y * side + x].cells;
      const [value, interval, , verdict] = cells.map(text);
      frame.setAttribute("x", x);
      frame.setAttribute("y", y);
      frame.removeAttribute("display");
      description.textContent = `Row ${y + 1}, column ${x + 1}: \u2068${name.querySelector("bdi").textContent}\u2069 ${value}, ${interval}, ${verdict}`;
    };
    const pointTo = (event) => {
      const box = svg.getBoundingClientRect();
      point((event.clientX - box.left) / box.width * side, (event.clientY - box.top) / box.height * side);
    };
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    svg.addEventListener("pointermove", pointTo);
    svg.addEventListener("pointerdown", pointTo);
    svg.addEventListener("keydown", (event) => {
      if (!steps[event.key]) return;
      event.preventDefault();
      point(x + steps[event.key][0], y + steps[event.key][1]);
    });
    svg.setAttribute("tabindex", "0");
    svg.setAttribute("role", "application");
  };

  const lists = JSON.parse(document.getElementById("data").textContent);
  const listings = Object.fromEntries(Object.entries(lists).map(([id, data]) => [id, listing(document.getElementById(id), data)]));
  document.querySelectorAll("svg[data-list]").forEach((svg) => image(svg, lists[svg.dataset.list].places, listings[svg.dataset.list][1]));
  document.querySelectorAll("input[name=view]").forEach((choice) => choice.addEventListener("change", () => {
    root.dataset.view = choice.value;
    Object.values(listings).forEach(([show]) => show());
  }));
})();
