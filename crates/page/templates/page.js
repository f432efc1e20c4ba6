"use strict";
(function () {
  const all = (selector, root) => Array.from((root || document).querySelectorAll(selector));
  const one = (selector) => document.querySelector(selector);
  const told = one("#told");
  let clear = 0;
  function tell(words) {
    told.textContent = words;
    clearTimeout(clear);
    clear = setTimeout(() => { told.textContent = ""; }, 2500);
  }

  // Copying. A page from a file may not use the clipboard, so the text is selected if nothing else works.
  for (const button of all("button.copy")) {
    button.addEventListener("click", () => {
      const code = button.parentElement.querySelector("code");
      const select = () => {
        getSelection().selectAllChildren(code);
        tell(document.execCommand("copy") ? "copied" : "selected");
      };
      if (navigator.clipboard) {
        navigator.clipboard.writeText(code.textContent).then(() => tell("copied"), select);
      } else {
        select();
      }
    });
  }

  // Layers: search, filter, fold.
  const layers = all("details.layer");
  const search = one("#layer-search");
  const only = one("#layer-only");
  function filter() {
    const words = search.value.trim().toLowerCase();
    let shown = 0;
    for (const layer of layers) {
      const kind = only.value;
      const fits = layer.dataset.words.includes(words) && (
        kind === "" ||
        (kind === "finding" && "finding" in layer.dataset) ||
        (kind === "host" && layer.dataset.place === "host") ||
        (kind === "bad" && "bad" in layer.dataset));
      layer.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    one("#layer-found").textContent = shown === layers.length ? "" : shown + " of " + layers.length;
  }
  search.addEventListener("input", filter);
  only.addEventListener("change", filter);
  for (const button of all("button[data-fold]")) {
    button.addEventListener("click", () => {
      for (const layer of layers) {
        if (!layer.hidden) layer.open = button.dataset.fold === "open";
      }
    });
  }
  function arrive() {
    const layer = location.hash.startsWith("#layer-") && document.getElementById(location.hash.slice(1));
    if (!layer) return;
    layer.hidden = false;
    layer.open = true;
    layer.scrollIntoView({ block: "start" });
    layer.querySelector("summary").focus({ preventScroll: true });
  }
  addEventListener("hashchange", arrive);
  arrive();
  addEventListener("beforeprint", () => { for (const layer of layers) layer.open = true; });

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (event.key === "/") {
      event.preventDefault();
      search.focus();
      return;
    }
    if (event.key !== "j" && event.key !== "k") return;
    const shown = layers.filter((layer) => !layer.hidden);
    const here = shown.indexOf(event.target.closest && event.target.closest("details.layer"));
    const next = shown[event.key === "j" ? here + 1 : here - 1];
    if (next) {
      next.scrollIntoView({ block: "nearest" });
      next.querySelector("summary").focus();
    }
  });

  // The graph: move, zoom, colour, search.
  function graph(canvases) {
    const views = new Map();
    function show(canvas) {
      const { x, y, width } = views.get(canvas);
      const height = width * canvas.clientHeight / Math.max(1, canvas.clientWidth);
      canvas.firstElementChild.setAttribute("viewBox", [x, y, width, height].map((n) => n.toFixed(1)).join(" "));
    }
    function fit(canvas, whole) {
      const width = Number(canvas.dataset.width);
      const height = Number(canvas.dataset.height);
      const ratio = canvas.clientWidth / Math.max(1, canvas.clientHeight);
      // Boxes are at most half as large again as they were drawn.
      let shown = Math.max(width + 24, canvas.clientWidth / 1.3);
      if (whole) shown = Math.max(shown, (height + 24) * ratio);
      views.set(canvas, { x: (width - shown) / 2, y: -8, width: shown });
      show(canvas);
    }
    // At first, the whole graph is shown, unless nobody could read it.
    function start(canvas) {
      fit(canvas, true);
      const view = views.get(canvas);
      const first = canvas.querySelector(".box");
      if (!first || view.width <= 1.9 * canvas.clientWidth) return;
      const middle = Number(first.getAttribute("x")) + Number(first.getAttribute("width")) / 2;
      view.width = canvas.clientWidth;
      view.x = Math.max(-12, middle - view.width / 2);
      show(canvas);
    }
    function zoom(canvas, factor, atX, atY) {
      const view = views.get(canvas);
      const box = canvas.getBoundingClientRect();
      const px = atX === undefined ? 0.5 : (atX - box.left) / box.width;
      const py = atY === undefined ? 0.5 : (atY - box.top) / box.height;
      const width = Math.min(Math.max(view.width * factor, 120), 40000);
      const ratio = box.height / Math.max(1, box.width);
      view.x += (view.width - width) * px;
      view.y += (view.width - width) * ratio * py;
      view.width = width;
      show(canvas);
    }
    function move(canvas, dx, dy) {
      const view = views.get(canvas);
      const scale = view.width / Math.max(1, canvas.clientWidth);
      view.x += dx * scale;
      view.y += dy * scale;
      show(canvas);
    }
    function centre(canvas, node) {
      const box = node.querySelector(".box");
      const view = views.get(canvas);
      const height = view.width * canvas.clientHeight / Math.max(1, canvas.clientWidth);
      view.x = Number(box.getAttribute("x")) + Number(box.getAttribute("width")) / 2 - view.width / 2;
      view.y = Number(box.getAttribute("y")) + Number(box.getAttribute("height")) / 2 - height / 2;
      show(canvas);
    }
    const visible = () => canvases.find((canvas) => !canvas.hidden);
    for (const canvas of canvases) {
      start(canvas);
      let from = null;
      let moved = 0;
      canvas.addEventListener("pointerdown", (event) => {
        from = [event.clientX, event.clientY];
        moved = 0;
      });
      addEventListener("pointermove", (event) => {
        if (!from) return;
        const [dx, dy] = [from[0] - event.clientX, from[1] - event.clientY];
        moved += Math.abs(dx) + Math.abs(dy);
        if (moved > 4) canvas.classList.add("moving");
        from = [event.clientX, event.clientY];
        move(canvas, dx, event.pointerType === "touch" ? 0 : dy);
      });
      addEventListener("pointerup", () => {
        from = null;
        canvas.classList.remove("moving");
      });
      addEventListener("pointercancel", () => { from = null; });
      canvas.addEventListener("click", (event) => {
        if (moved > 4) event.preventDefault();
      }, true);
      canvas.addEventListener("dragstart", (event) => event.preventDefault());
      canvas.addEventListener("wheel", (event) => {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        zoom(canvas, Math.exp(event.deltaY / 300), event.clientX, event.clientY);
      }, { passive: false });
      canvas.addEventListener("keydown", (event) => {
        const steps = { ArrowLeft: [-60, 0], ArrowRight: [60, 0], ArrowUp: [0, -60], ArrowDown: [0, 60] };
        if (steps[event.key]) move(canvas, ...steps[event.key]);
        else if (event.key === "+" || event.key === "=") zoom(canvas, 0.8);
        else if (event.key === "-") zoom(canvas, 1.25);
        else if (event.key === "0") fit(canvas, true);
        else return;
        event.preventDefault();
      });
      canvas.addEventListener("focusin", (event) => {
        const node = event.target.closest(".node");
        if (node && node.matches(":focus-visible")) centre(canvas, node);
      });
    }
    for (const button of all("button[data-zoom]")) {
      button.addEventListener("click", () => {
        const kind = button.dataset.zoom;
        if (kind === "in") zoom(visible(), 0.7);
        else if (kind === "out") zoom(visible(), 1.4);
        else fit(visible(), kind === "all");
      });
    }
    const colour = one("#graph-colour");
    colour.addEventListener("change", () => {
      for (const canvas of canvases) canvas.className = "canvas by-" + colour.value;
      for (const legend of all(".legend")) legend.hidden = legend.dataset.for !== colour.value;
    });
    const fold = one("#graph-fold");
    function choose() {
      if (!fold) return;
      for (const canvas of canvases) canvas.hidden = canvas.id !== "graph-" + fold.value;
      start(visible());
    }
    if (fold) fold.addEventListener("change", choose);
    choose();
    one("#graph-search").addEventListener("input", (event) => {
      const words = event.target.value.trim().toLowerCase();
      const canvas = visible();
      let found = 0;
      for (const node of all(".node", canvas)) {
        const fits = words !== "" && node.dataset.words.includes(words);
        node.classList.toggle("found", fits);
        node.classList.toggle("dim", words !== "" && !fits);
        if (fits && found === 0) centre(canvas, node);
        found += fits ? 1 : 0;
      }
      one("#graph-found").textContent = words === "" ? "" : found + " found";
    });
    addEventListener("resize", () => { for (const canvas of canvases) if (!canvas.hidden) show(canvas); });
  }
  const canvases = all(".canvas");
  if (canvases.length > 0) graph(canvases);
  document.documentElement.dataset.ready = "";
}());
