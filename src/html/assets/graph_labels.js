// Labels of edges, each on its edge and none on another or on a node.
(() => {
  const letterWidth = 7.7;  // of the bold ones
  const height = 14;
  const bucketHeight = 60;

  // Boxes found by height: a drawing has thousands.
  class Taken {
    constructor() {
      this.buckets = new Map();
    }

    rows(box) {
      const rows = [];
      for (let row = Math.floor(box.top / bucketHeight);
           row <= Math.floor(box.bottom / bucketHeight); row += 1)
        rows.push(row);
      return rows;
    }

    add(box) {
      for (const row of this.rows(box))
        this.buckets.set(row, [...(this.buckets.get(row) || []), box]);
    }

    isFree(box) {
      return this.rows(box).every(
          (row) => (this.buckets.get(row) || [])
                       .every(
                           (other) => box.left >= other.right || other.left >= box.right ||
                               box.top >= other.bottom || other.top >= box.bottom));
    }
  }

  // A point of the curve that edges take from a to b: the bend is half-way down.
  function along(a, b, t) {
    const s = 1 - t;
    const x = s ** 3 * a.x + 3 * s * s * t * a.x + 3 * s * t * t * b.x + t ** 3 * b.x;
    const half = (a.y + b.y) / 2;
    const y = s ** 3 * a.y + 3 * s * s * t * half + 3 * s * t * t * half + t ** 3 * b.y;
    return {x, y};
  }

  function* candidates(points) {
    const middle = Math.floor((points.length - 2) / 2);
    const segments = [middle, middle + 1, middle - 1, middle + 2, middle - 2].filter(
        (at) => at >= 0 && at + 1 < points.length);
    for (const at of segments) {
      for (const t of [0.5, 0.3, 0.7]) yield along(points[at], points[at + 1], t);
    }
  }

  // For each edge the place of its label's left end, or null where there is no room: its title has
  // the text, too.
  function labelPlaces(labels, routes, boxes) {
    const taken = new Taken();
    boxes.forEach((box) => taken.add(box));
    return labels.map((label, index) => {
      if (!label) return null;
      const width = letterWidth * label.length;
      for (const {x, y} of candidates(routes[index])) {
        for (const left of [x + 5, x - 5 - width]) {
          const box = {left, right: left + width, top: y - height / 2, bottom: y + height / 2};
          if (!taken.isFree(box)) continue;
          taken.add(box);
          return {x: left, y: y + 4};
        }
      }
      return null;
    });
  }

  ingot.labelPlaces = labelPlaces;
})();
