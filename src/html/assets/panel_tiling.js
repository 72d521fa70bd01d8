// Tiling: a matrix product element by element against tile by tile, with the same arithmetic.
(() => {
  const {svg, drawing, text} = ingot.dom;
  const {bytes, exactBytes, flops, integer, significant} = ingot.format;
  const drawnSide = 8;    // the drawing walks over a product of 8 x 8 blocks
  const drawnSteps = 64;  // each of 8 multiply-adds of blocks

  // The drawing's tile for a tile of t in a matrix of n.
  function drawnTile(n, t) {
    if (t <= 1) return 1;
    const exact = (drawnSide * t) / n;
    return Math.min(drawnSide, Math.max(2, exact));
  }

  ingot.panels.push({
    id: 'tiling',
    title: 'Tiling',
    beat: 250,
    claim:
        'A matrix product can read every operand again for each result, or keep tiles of t × t near the arithmetic and use each element t times. The arithmetic is the same; the bytes fall by t.',
    fields: [
      {
        name: 'side',
        label: 'Matrix side n',
        unit: '',
        kind: 'number',
        value: 1024,
        min: 8,
        max: 16384,
        log: true,
        powers: true
      },
      {
        name: 'tile',
        label: 'Tile side t',
        unit: '',
        kind: 'number',
        value: 64,
        min: 1,
        max: 1024,
        log: true,
        powers: true
      },
      ingot.fields.elementSize,
      {
        name: 'local',
        label: 'Local memory',
        unit: 'kB',
        kind: 'number',
        value: 100,
        min: 1,
        max: 256,
        whole: true
      },
    ],

    model({side, tile: asked, size, local}) {
      const tile = Math.min(asked, side);
      const needed = 2 * tile * tile * size;
      const room = local * 1000;
      let largest = 1;
      while (largest * 2 <= side && 2 * (largest * 2) ** 2 * size <= room) largest *= 2;
      const results = side * side * size;
      const unblocked = 2 * side ** 3 * size;
      const tiled = (2 * side ** 3 * size) / tile;
      const work = 2 * side ** 3;
      return {
        side,
        tile,
        size,
        needed,
        room,
        largest,
        fits: needed <= room,
        results,
        unblocked,
        tiled,
        work,
        saving: unblocked / tiled,
        drawn: drawnTile(side, tile)
      };
    },

    steps: () => drawnSteps,

    draw(width, model, step, revealed) {
      const stacked = width < 560;
      const each = stacked ? Math.min(width, 330) : (width - 24) / 2;
      const height = each * 0.86 + 52;
      const at = (index) =>
          (stacked ? `translate(${(width - each) / 2},${index * (height + 8)})` :
                     `translate(${index * (each + 24)},0)`);
      return drawing(
          width, stacked ? 2 * height + 8 : height, 'A matrix product, unblocked and tiled',
          svg('g', {transform: at(0)},
              product(
                  each, 1, step, 'Unblocked',
                  revealed ? bytes((model.unblocked * step) / drawnSteps) : '?')),
          svg('g', {transform: at(1)},
              product(
                  each, model.drawn, step, `Tiled, t = ${model.tile}`,
                  revealed ? bytes(model.tiled * loadedShare(model.drawn, step)) : '?',
                  !model.fits)));
    },

    say(model, step, revealed) {
      const share = `${integer((100 * step) / drawnSteps)} % of the arithmetic (${
          flops((model.work * step) / drawnSteps)})`;
      const walk = 'Drawn as 8 × 8 blocks.';
      if (!model.fits)
        return `Two tiles of ${model.tile} × ${model.tile} need ${
            bytes(model.needed)}; a block has ${
            bytes(model.room)}. The largest tile that fits has a side of ${model.largest}.`;
      return revealed ?
          `${share} in both: read ${bytes((model.unblocked * step) / drawnSteps)} unblocked, ${
              bytes(model.tiled * loadedShare(model.drawn, step))} tiled. ${walk}` :
          `${share} in both. ${walk}`;
    },

    prediction: {
      label: 'Your prediction: times fewer bytes read with tiles',
      unit: '×',
      answer: (model) => model.saving,
      because: (model) => `Each element that was loaded is used ${
          model.tile} times: 2n³ · s / t bytes instead of 2n³ · s, ${
          integer(model.saving)} times fewer.`,
    },

    answer: (model) => [
        [
          'Read unblocked', exactBytes(model.unblocked),
          '2n³ · s: a row and a column for each result'
        ],
        [
          'Read tiled', exactBytes(model.tiled), `2n³ · s / t, ${integer(model.saving)} times fewer`
        ],
        ['Written, both', exactBytes(model.results), 'n² · s'],
        ['Arithmetic, both', flops(model.work), '2n³: tiles change the order, not the amount'],
        [
          'Intensity',
          `${significant(model.work / (model.unblocked + model.results))} → ${
              significant(model.work / (model.tiled + model.results))} FLOP/byte`,
          'what moves the point on the roofline'
        ],
        [
          'Local memory',
          model.fits ? `${exactBytes(model.needed)} of ${bytes(model.room)}` :
                       `${exactBytes(model.needed)}: too much`,
          `two tiles, 2 · t² · s; the largest t that fits is ${model.largest}`
        ],
  ],

    question: {
      text:
          'The side of the tile is doubled. What happens to the bytes read and to the local memory that the two tiles take?',
      choices: [
        ['Both double', false, 'A larger tile is read again less often: the bytes read fall.'],
        [
          'Half the bytes, four times the memory', true,
          'Each loaded element is used twice as often, so 2n³ · s / t halves; two tiles take 2 · t² · s, four times as much. That is why local memory limits what tiling can save. It also leaves room for fewer blocks at once.'
        ],
        [
          'A quarter of the bytes, twice the memory', false,
          'The bytes go with 1 / t and the memory with t²: half and four times.'
        ],
      ],
    },
  });

  // Share of all loads that tiles of `tile` blocks have made after `step` steps of the walk.
  function loadedShare(tile, step) {
    if (step === 0) return 0;
    const perTriple = tile ** 3;  // multiply-adds of a pair of tiles
    const triples = drawnSide ** 3 / perTriple;
    return Math.min(1, Math.ceil((step * 8) / perTriple) / triples);
  }

  // Where the walk is: the current tile of the result, and which of its pairs of tiles is in use.
  function position(tile, step) {
    const perRow = drawnSide / tile;
    const triples = perRow ** 3;
    const done = (Math.max(step, 1) * 8) / tile ** 3;
    const triple = Math.min(triples - 1, Math.ceil(done) - 1);
    const result = Math.floor(triple / perRow);
    return {
      row: Math.floor(result / perRow),
      column: result % perRow,
      inner: triple % perRow,
      finished: Math.floor(done / perRow),
      perRow
    };
  }

  function product(side, tile, step, title, moved, tooLarge) {
    const gap = 18;
    const unit = (side * 0.86 - gap) / 2 / drawnSide;
    const matrix = unit * drawnSide;
    const left = (side - 2 * matrix - gap) / 2;
    const top = 44;
    const [bx, by] = [left + matrix + gap, top];
    const [ax, ay] = [left, top + matrix + gap];
    const [cx, cy] = [bx, ay];
    const whole = tile === 1;  // unblocked: a whole row and column for one result
    const at = position(tile, step);
    const now = whole ? position(1, step) : at;
    const cell = (x, y, row, column, rows, columns, kind) => svg('rect', {
      class: kind,
      x: x + column * unit,
      y: y + row * unit,
      width: columns * unit,
      height: rows * unit
    });
    const grid = (x, y, name) =>
        [svg('rect', {class: 'matrix', x, y, width: matrix, height: matrix}),
         Array.from(
             {length: drawnSide - 1},
             (_, i) =>
                 [svg('line', {
                    class: 'cells',
                    x1: x + (i + 1) * unit,
                    x2: x + (i + 1) * unit,
                    y1: y,
                    y2: y + matrix
                  }),
                  svg('line', {
                    class: 'cells',
                    x1: x,
                    x2: x + matrix,
                    y1: y + (i + 1) * unit,
                    y2: y + (i + 1) * unit
                  })]),
         text(x, y - 3, name, {class: 'matrix-name'}),
    ];
    const results = Array.from(
        {length: Math.min(now.finished, now.perRow ** 2)},
        (_, i) => cell(
            cx, cy, Math.floor(i / now.perRow) * tile, (i % now.perRow) * tile, tile, tile,
            'finished'));
    const current = step === 0 ? [] : [
      whole ? cell(ax, ay, now.row, 0, 1, drawnSide, 'loaded') :
              cell(ax, ay, now.row * tile, now.inner * tile, tile, tile, 'loaded'),
      whole ? cell(bx, by, 0, now.column, drawnSide, 1, 'loaded') :
              cell(bx, by, now.inner * tile, now.column * tile, tile, tile, 'loaded'),
      cell(cx, cy, now.row * tile, now.column * tile, tile, tile, 'current'),
    ];
    return [
      text(0, 14, title, {class: 'lane-title'}),
      text(side, 14, `read ${moved}`, {class: 'lane-total', 'text-anchor': 'end'}),
      tooLarge ? text(0, 33, 'does not fit local memory', {class: 'too-large'}) : null,
      results,
      current,
      grid(ax, ay, 'A'),
      grid(bx, by, 'B'),
      grid(cx, cy, 'C'),
    ];
  }
})();
