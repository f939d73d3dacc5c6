
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

  // Makes a chart of bars movable: its rows are drawn in any order, and on a phone with names above their bars.
  const phone = matchMedia("(max-width: 40rem)");
  const [NARROW, MARGIN, NAME, LETTERS, TICK] = [350, 18, 20, 44, 48]; // widths, height of a name, and its letters
  const read = (element, names) => Object.fromEntries(names.map((name) => [name, element.getAttribute(name)]));
  const write = (element, attributes) => Object.entries(attributes).forEach(([name, value]) =>
    value === null ? element.removeAttribute(name) : element.setAttribute(name, value));

  const movable = (svg) => {
    const [row, head, foot, start, end] = ["row", "head", "foot", "start", "end"].map((name) => Number(svg.dataset[name]));
    const { width } = svg.viewBox.baseVal;
    const grid = [...svg.querySelectorAll(".grid > *")].map((part) => [part, read(part, ["x", "x1", "x2"])]);
    const rows = [...svg.querySelectorAll(".row")].map((bar) => {
      const [frame, name, plot] = ["svg", "text", ".plot"].map((selector) => bar.querySelector(selector));
      const stars = [...plot.querySelectorAll(".star")].map((star) => [star, star.getAttribute("transform")]);
      const whole = [read(frame, ["width", "height"]), read(name, ["x", "y", "text-anchor"])];
      return { bar, frame, name, plot, stars, whole, label: name.textContent };
    });
    const numbers = grid.filter(([part]) => part.tagName === "text");
    const zero = numbers.findIndex(([part]) => part.textContent === "0");
    const isBeside = "beside" in svg.dataset;

    return (features) => {
      const isNarrow = phone.matches;
      const scale = isNarrow ? (NARROW - 2 * MARGIN) / (end - start) : 1;
      const shift = isNarrow ? MARGIN - start * scale : 0;
      const above = isNarrow && isBeside ? NAME : 0;
      const height = row + above;
      grid.forEach(([part, places]) => write(part, Object.fromEntries(
        Object.entries(places).map(([name, x]) => [name, x === null ? null : Number(x) * scale + shift]))));
      const apart = Math.ceil(TICK / (scale * (numbers[1]?.[1].x - numbers[0][1].x || TICK)));
      numbers.forEach(([part], tick) => write(part, { display: isNarrow && (tick - zero) % apart ? "none" : null }));
      rows.forEach(({ bar }) => write(bar, { display: "none" }));
      features.forEach((index, position) => {
        const { bar, frame, name, plot, stars, whole, label } = rows[index];
        write(bar, { display: null, transform: `translate(0 ${head + height * position})` });
        write(frame, isNarrow ? { width: NARROW, height } : whole[0]);
        write(name, isNarrow ? { x: 0, y: above ? NAME - 3 : whole[1].y, "text-anchor": null } : whole[1]);
        name.textContent = isNarrow && label.length > LETTERS ? `${label.slice(0, LETTERS / 2)}\u2026${label.slice(1 - LETTERS / 2)}` : label;
        write(plot, { transform: isNarrow ? `translate(${shift} ${above}) scale(${scale} 1)` : null });
        stars.forEach(([star, transform]) => write(star, { transform: `${transform} scale(${1 / scale} 1)` }));
      });
      write(svg, { viewBox: `0 0 ${isNarrow ? NARROW : width} ${head + height * features.length + foot}` });
    };
  };

  // Makes a section with a table and charts of the same features interactive; a feature may have several rows.
  const listing = (section, data) => {
    const body = section.querySelector("table").tBodies[0];
    const rows = [...body.rows];
    const charts = [...section.querySelectorAll("svg[data-row]")].map(movable);
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

    const show = () => {
      const shown = selected().sort(compare);
      const features = [...new Set(shown.map(feature))];
      body.replaceChildren(...shown.map((row) => rows[row]));
      charts.forEach((draw) => draw(features));
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

  // Tables are drawn as cards on phones, where each cell has its heading; for screen readers they stay tables.
  document.querySelectorAll(".wide > table").forEach((table) => {
    const headings = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
    [...table.tBodies[0].rows].forEach((row) => [...row.cells].forEach((cell, column) => { cell.dataset.label = headings[column]; }));
  });
  const roles = { table: "table", "thead, tbody": "rowgroup", tr: "row", "thead th": "columnheader", "tbody th": "rowheader", td: "cell" };
  Object.entries(roles).forEach(([selector, role]) =>
    document.querySelectorAll(selector).forEach((element) => element.setAttribute("role", role)));

  const lists = JSON.parse(document.getElementById("data").textContent);
  const listings = Object.fromEntries(Object.entries(lists).map(([id, data]) => [id, listing(document.getElementById(id), data)]));
  document.querySelectorAll("svg[data-list]").forEach((svg) => image(svg, lists[svg.dataset.list].places, listings[svg.dataset.list][1]));
  const showAll = () => Object.values(listings).forEach(([show]) => show());
  phone.addEventListener("change", showAll);
  document.querySelectorAll("input[name=view]").forEach((choice) => choice.addEventListener("change", () => {
    root.dataset.view = choice.value;
    showAll();
  }));
})();
