// A layered drawing of a directed acyclic graph, from the top down.
//
// layout(nodes, edges): nodes [{ width, height }], edges [[from, to]] by position, those into a
// node before those out of it. Gives { width, height, places: [{ x, y }] (centres), routes: [[{ x,
// y }]] }, a route for each edge. Layers by longest path; long edges get a bend in each layer they
// cross; the order in a layer is that of its neighbours' mean position, swept down and up.
(() => {
  const gapX = 22;
  const gapY = 46;
  const bendWidth = 10;
  const sweeps = 6;

  function layersOf(nodes, edges) {
    const layer = nodes.map(() => 0);
    for (const [from, to] of edges) layer[to] = Math.max(layer[to], layer[from] + 1);
    // What has no operands stands just above its first consumer, not at the top of the page.
    const fed = nodes.map(() => false);
    const least = nodes.map(() => Infinity);
    for (const [from, to] of edges) {
      fed[to] = true;
      least[from] = Math.min(least[from], layer[to]);
    }
    return layer.map((own, node) => (!fed[node] && least[node] < Infinity ? least[node] - 1 : own));
  }

  // Nodes and bends in one list of items, edges only between neighbouring layers.
  function withBends(nodes, edges) {
    const layer = layersOf(nodes, edges);
    const items = nodes.map(
        (node, index) => (
            {width: node.width, height: node.height, layer: layer[index], up: [], down: [], x: 0}));
    const paths = edges.map(([from, to]) => {
      const path = [from];
      for (let at = layer[from] + 1; at < layer[to]; at += 1) {
        items.push({width: bendWidth, height: 0, layer: at, up: [], down: [], x: 0});
        path.push(items.length - 1);
      }
      path.push(to);
      for (let i = 1; i < path.length; i += 1) {
        items[path[i - 1]].down.push(path[i]);
        items[path[i]].up.push(path[i - 1]);
      }
      return path;
    });
    return {items, paths};
  }

  const mean = (list) => list.reduce((sum, value) => sum + value, 0) / list.length;

  function orderLayers(items) {
    const layers = [];
    items.forEach((item, index) => {
      (layers[item.layer] = layers[item.layer] || []).push(index);
    });
    for (let at = 0; at < layers.length; at += 1) layers[at] = layers[at] || [];
    const position = items.map(() => 0);
    const number = (layer) => layer.forEach((index, place) => {
      position[index] = place;
    });
    layers.forEach(number);
    for (let sweep = 0; sweep < sweeps; sweep += 1) {
      const side = sweep % 2 === 0 ? 'up' : 'down';
      for (const layer of side === 'up' ? layers : [...layers].reverse()) {
        const wish = new Map(layer.map(
            (index) =>
                [index,
                 items[index][side].length > 0 ?
                     mean(items[index][side].map((other) => position[other])) :
                     position[index]]));
        layer.sort((one, other) => wish.get(one) - wish.get(other) || one - other);
        number(layer);
      }
    }
    return layers;
  }

  // Items go to their neighbours' mean, as far as those beside them in the layer leave room.
  function placeLayer(layer, items, wish) {
    const room = (i) => (items[layer[i - 1]].width + items[layer[i]].width) / 2 + gapX;
    const fromLeft = [];
    layer.forEach((index, i) => {
      fromLeft[i] = i === 0 ? wish[i] : Math.max(wish[i], fromLeft[i - 1] + room(i));
    });
    const fromRight = [];
    for (let i = layer.length - 1; i >= 0; i -= 1) {
      fromRight[i] =
          i === layer.length - 1 ? wish[i] : Math.min(wish[i], fromRight[i + 1] - room(i + 1));
    }
    // Both keep the distances, and so does their mean.
    layer.forEach((index, i) => {
      items[index].x = (fromLeft[i] + fromRight[i]) / 2;
    });
  }

  function placeItems(layers, items) {
    for (const layer of layers) {
      let x = 0;
      for (const index of layer) {
        items[index].x = x + items[index].width / 2;
        x += items[index].width + gapX;
      }
      for (const index of layer) items[index].x -= x / 2;
    }
    for (let sweep = 0; sweep < 2 * sweeps; sweep += 1) {
      const side = sweep % 2 === 0 ? 'up' : 'down';
      for (const layer of side === 'up' ? layers : [...layers].reverse()) {
        placeLayer(layer, items, layer.map((index) => {
          const near = items[index][side].length > 0 ? items[index][side] :
                                                       items[index][side === 'up' ? 'down' : 'up'];
          return near.length > 0 ? mean(near.map((other) => items[other].x)) : items[index].x;
        }));
      }
    }
  }

  function layout(nodes, edges) {
    const {items, paths} = withBends(nodes, edges);
    const layers = orderLayers(items);
    placeItems(layers, items);
    let y = 0;
    for (const layer of layers) {
      const height = layer.reduce((most, index) => Math.max(most, items[index].height), 0);
      for (const index of layer) items[index].y = y + height / 2;
      y += height + gapY;
    }
    const left = items.reduce((least, item) => Math.min(least, item.x - item.width / 2), Infinity);
    const right = items.reduce((most, item) => Math.max(most, item.x + item.width / 2), -Infinity);
    for (const item of items) item.x -= left;
    const point = (index) => ({x: items[index].x, y: items[index].y});
    return {
      width: items.length > 0 ? right - left : 0,
      height: Math.max(0, y - gapY),
      places: nodes.map((_, index) => point(index)),
      routes: paths.map((path) => path.map(point)),
    };
  }

  ingot.layout = layout;
})();
