"use strict";
(() => {
  const data = JSON.parse(document.getElementById("page-data").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const PAGE = 25;
  const find = (id) => document.getElementById(id);
  const count = (n) => n.toLocaleString("en");

  // Text only ever becomes text: nothing here reads markup from the data.
  function make(name, attributes, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children.map((child) => (child instanceof Node ? child : String(child))));
    return node;
  }

  function draw(name, attributes, ...children) {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }

  const number = (value) => make("td", { class: "number" }, value === null ? "" : value);

  function row(name, ...cells) {
    return make("tr", {}, make("th", { scope: "row" }, name), ...cells);
  }

  function table(caption, names, rows, nText = 1) {
    const head = names.map((name, i) => name === "" ? make("td", {})
      : make("th", { scope: "col", ...(i >= nText && { class: "number" }) }, name));
    const inner = make("table", {}, make("caption", {}, caption),
      make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows));
    const label = { class: "scrolling", role: "region", "aria-label": caption, tabindex: "0" };
    return make("div", label, inner);
  }

  function queryTable() {
    const body = find("query-table").tBodies[0];
    const heads = [...find("query-table").tHead.rows[0].cells];
    const search = find("search");
    let shown = data.queries;
    let first = 0;
    let order = null;
    const places = new Map((data.examples || []).map((example, i) => [example.number, i]));

    function cell(value, i) {
      return typeof value === "number" && i > 2 ? value.toFixed(4) : value;
    }

    function link(name, query) {
      if (!places.has(query)) return name;
      const button = make("button", { type: "button" }, name);
      button.addEventListener("click", () => showExample(places.get(query)));
      return button;
    }

    function render() {
      const some = shown.slice(first, first + PAGE);
      body.replaceChildren(...some.map((one) => {
        const values = one.slice(1, -1).map((value, i) => number(cell(value, i + 1)));
        return row(link(one[0], one.at(-1)), ...values);
      }));
      find("previous-page").disabled = first === 0;
      find("next-page").disabled = first + PAGE >= shown.length;
      const range = shown.length === 0 ? "No query"
        : `Queries ${count(first + 1)} to ${count(first + some.length)} of ${count(shown.length)}`;
      find("page-status").textContent = range;
    }

    function compare(a, b) {
      if (a === null || b === null) return (a === null) - (b === null);
      const gap = typeof a === "number" ? a - b
        : a.localeCompare(b, "en", { numeric: true });
      return order.falling ? -gap : gap;
    }

    function update() {
      const words = search.value.trim().toLowerCase();
      shown = data.queries.filter(([name]) => name.toLowerCase().includes(words));
      if (order !== null) shown.sort((a, b) => compare(a[order.column], b[order.column]));
      first = 0;
      render();
    }

    heads.forEach((head, column) => head.firstChild.addEventListener("click", () => {
      const again = order !== null && order.column === column;
      order = { column, falling: again && !order.falling };
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order.falling ? "descending" : "ascending");
      update();
    }));
    search.addEventListener("input", update);
    find("previous-page").addEventListener("click", () => { first -= PAGE; render(); });
    find("next-page").addEventListener("click", () => { first += PAGE; render(); });
    render();
  }

  function documents(example, chosen) {
    const ranks = new Set(chosen ? chosen.pair.map((one) => one.rank) : []);
    const compared = example.documents.some((one) => one[4] !== null);
    const rows = example.documents.map(([rank, name, label, score, before]) => {
      const cells = [number(rank), number(label), number(score.toPrecision(4))];
      if (compared) cells.push(number(before));
      const line = row(name, ...cells);
      if (ranks.has(rank)) line.className = "upset";
      return line;
    });
    const names = ["document", "rank", "label", "score", ...(compared ? ["baseline rank"] : [])];
    const more = example.more > 0 ? `; ${count(example.more)} more are not shown` : "";
    return table(`Documents by rank${more}`, names, rows);
  }

  function partBar(part, largest) {
    const width = largest > 0 ? 50 * Math.min(Math.abs(part) / largest, 1) : 0;
    const place = { x: part < 0 ? 50 - width : 50, y: 0, width, height: 10 };
    const box = { viewBox: "0 0 100 10", preserveAspectRatio: "none", class: "bar" };
    return draw("svg", { ...box, "aria-hidden": "true" },
      draw("rect", { ...place, class: part < 0 ? "minus" : "plus" }),
      draw("line", { x1: 50, x2: 50, y1: 0, y2: 10, class: "axis" }));
  }

  function signed(value) {
    return (value < 0 ? "" : "+") + value.toPrecision(3);
  }

  function swapTable(swap) {
    const [above, below] = swap.pair;
    const largest = Math.max(Math.abs(swap.rest), ...swap.parts.map((part) => Math.abs(part[1])));
    const rows = swap.parts.map(([feature, part, error, a, b]) => row(feature,
      make("td", { class: "wide" }, partBar(part, largest)),
      number(signed(part) + (error ? ` \u00b1 ${error.toPrecision(2)}` : "")),
      number(a), number(b)));
    if (swap.rest !== 0) {
      rows.push(row("all other features", make("td", { class: "wide" }, partBar(swap.rest, largest)),
        number(signed(swap.rest)), number(""), number("")));
    }
    const caption = "What each feature adds to the score of the upper document";
    const names = ["feature", "", "part", `rank ${above.rank}`, `rank ${below.rank}`];
    const text = `${above.name} (label ${above.label}) stands at rank ${above.rank}, above `
      + `${below.name} (label ${below.label}) at rank ${below.rank}. This costs `
      + `${swap.cost.toFixed(4)} of NDCG. The difference of the scores is ${signed(swap.margin)}.`;
    return [make("p", {}, text), table(caption, names, rows)];
  }

  let showExample = null;

  function examples() {
    const choose = find("choose-example");
    const explained = data.kinds.reduce((sum, [, length]) => sum + length, 0);
    let current = 0;
    let swap = 0;

    function step(key, length, place, move) {
      const button = (name, by) => {
        const made = make("button", { type: "button" }, name);
        made.disabled = place + by < 0 || place + by >= length;
        made.addEventListener("click", () => {
          move(place + by);
          const again = [...find(key).querySelectorAll("button")];
          (again.find((one) => one.textContent === name && !one.disabled)
            || again.find((one) => !one.disabled)).focus();
        });
        return made;
      };
      return make("div", { class: "controls", id: key }, button("Previous pair", -1),
        button("Next pair", 1), make("output", { role: "status" }, `Pair ${place + 1} of ${length}`));
    }

    function render() {
      const example = data.examples[current];
      const chosen = example.swaps[swap];
      const parts = [];
      if (chosen !== undefined) {
        const length = example.swaps.length;
        if (length > 1) parts.push(step("pair-steps", length, swap, (n) => { swap = n; render(); }));
        parts.push(...swapTable(chosen));
      }
      find("example").replaceChildren(
        make("h3", { tabindex: "-1" }, `Query ${example.query}: ${example.values}`),
        make("div", { class: "columns" }, make("div", {}, ...parts),
          make("div", {}, documents(example, chosen))));
    }

    function show(place) {
      current = place;
      swap = 0;
      choose.value = place < explained ? String(place) : "";
      find("previous-example").disabled = place === 0;
      find("next-example").disabled = place >= explained - 1;
      find("example-status").textContent = place < explained
        ? `Query ${place + 1} of ${explained}` : "Chosen from the table of queries";
      render();
    }

    let begin = 0;
    for (const [label, length] of data.kinds) {
      const options = data.examples.slice(begin, begin + length)
        .map((example, i) => make("option", { value: begin + i }, example.query));
      if (length > 0) choose.append(make("optgroup", { label }, ...options));
      begin += length;
    }
    showExample = (place) => {
      show(place);
      find("example").querySelector("h3").focus();
    };
    choose.addEventListener("change", () => show(Number(choose.value)));
    find("previous-example").addEventListener("click", () => show(current - 1));
    find("next-example").addEventListener("click", () => show(current + 1));
    show(0);
  }

  if (data.queries) queryTable();
  if (data.examples) examples();
})();
