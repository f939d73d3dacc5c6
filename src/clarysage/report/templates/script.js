
"use strict";
// What the reader may change: which features are shown, in what order, what intervals are about, and the colours.
(() => {
  const root = document.documentElement;
  const data = JSON.parse(document.getElementById("data").textContent);
  const find = (id) => document.getElementById(id);
  root.classList.add("scripted");

  const theme = find("theme");
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const nameTheme = () => { theme.textContent = isDark() ? "Light colours" : "Dark colours"; };
  theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; nameTheme(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", nameTheme);
  nameTheme();

  const body = find("table").tBodies[0];
  const rows = [...body.rows];
  const chart = find("chart");
  const bars = [...chart.querySelectorAll(".row")];
  const headings = [...find("table").tHead.querySelectorAll("th")];
  const collator = new Intl.Collator(undefined, { numeric: true });
  const names = data.names.map((name) => name.toLowerCase());
  const order = { key: "value", descending: true };

  const key = (place) => {
    if (order.key === "name") return data.names[place];
    return order.key === "value" ? data.values[place] : data.about[root.dataset.about][order.key][place];
  };
  const compare = (a, b) => {
    const [one, other] = [key(a), key(b)];
    const found = typeof one === "string" ? collator.compare(one, other) : one - other;
    return (order.descending ? -found : found) || a - b;
  };

  const selected = () => {
    const wanted = find("search").value.trim().toLowerCase();
    let places = rows.map((_, place) => place).filter((place) => names[place].includes(wanted));
    const many = find("many") && Number(find("many").value);
    if (many) places = places.sort((a, b) => Math.abs(data.values[b]) - Math.abs(data.values[a]) || a - b).slice(0, many);
    return places.sort(compare);
  };

  const show = () => {
    const places = selected();
    const row = Number(chart.dataset.row);
    const head = Number(chart.dataset.head);
    body.replaceChildren(...places.map((place) => rows[place]));
    bars.forEach((bar) => bar.setAttribute("display", "none"));
    places.forEach((place, at) => {
      bars[place].removeAttribute("display");
      bars[place].setAttribute("transform", `translate(0 ${head + row * at})`);
    });
    const box = chart.viewBox.baseVal;
    chart.setAttribute("viewBox", `0 0 ${box.width} ${head + row * places.length + 10}`);
    find("count").textContent = `${places.length} of ${rows.length} features shown`;
    find("none").hidden = places.length > 0;
  };

  headings.forEach((heading) => heading.querySelector("button").addEventListener("click", () => {
    const isSame = order.key === heading.dataset.key;
    order.descending = isSame ? !order.descending : !["name", "known"].includes(heading.dataset.key);
    order.key = heading.dataset.key;
    headings.forEach((one) => one.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", order.descending ? "descending" : "ascending");
    show();
  }));
  document.querySelectorAll("input[name=about]").forEach((choice) => choice.addEventListener("change", () => {
    root.dataset.about = choice.value;
    show();
  }));
  find("search").addEventListener("input", show);
  if (find("many")) find("many").addEventListener("change", show);
  show();
})();
