// Roofline: how fast may a kernel of this intensity be at most?
(() => {
  const {element, table} = ingot.dom;
  const {significant} = ingot.format;
  const {attainable, ridge, chart} = ingot.roofline;
  const gpus = ingot.dom.data().devices;
  const doublings = 4;

  const rate = (gflops) => `${significant(gflops, 6)} GFLOP/s`;

  ingot.panels.push({
    id: 'roofline',
    title: 'Roofline',
    claim:
        'A kernel with intensity I runs at min(compute ceiling, I · bandwidth) at best. Fusion raises I: the same arithmetic, fewer bytes.',
    fields: [
      {
        name: 'device',
        label: 'Device',
        kind: 'choice',
        value: '',
        choices: [['', 'your own numbers'], ...gpus.map((device) => [device.name, device.name])],
        chosen: (name) => {
          const device = gpus.find((row) => row.name === name);
          return device ? {bandwidth: device.copy_gbs, ceiling: device.f32_gflops} : {};
        }
      },
      {
        name: 'intensity',
        label: 'Intensity I',
        unit: 'FLOP/byte',
        kind: 'number',
        value: 2,
        min: 0.01,
        max: 1000,
        log: true
      },
      {
        name: 'bandwidth',
        label: 'Bandwidth B',
        unit: 'GB/s',
        kind: 'number',
        value: 100,
        min: 1,
        max: 100000,
        log: true
      },
      {
        name: 'ceiling',
        label: 'Compute ceiling',
        unit: 'GFLOP/s',
        kind: 'number',
        value: 1000,
        min: 1,
        max: 10000000,
        log: true
      },
    ],

    model({intensity, bandwidth, ceiling}) {
      const roof = {bandwidth, compute: ceiling};
      const points = Array.from({length: doublings + 1}, (_, step) => {
        const x = intensity * 2 ** step;
        return {x, y: attainable(roof, x)};
      });
      return {
        roof,
        intensity,
        points,
        ridge: ridge(roof),
        rate: points[0].y,
        bound: intensity < ridge(roof) ? 'memory' : 'compute',
        gain: points[1].y / points[0].y
      };
    },

    steps: () => doublings,

    draw(width, model, step, revealed) {
      const points = model.points.slice(0, step + 1)
                         .map((point, index) => ({
                                ...point,
                                kind: index === step ? 'chosen' : 'separate',
                                label: !revealed   ? (index === step ? '?' : '') :
                                    index === step ? rate(point.y) :
                                                     '',
                                title: revealed ? `I = ${significant(point.x)}: ${rate(point.y)}` :
                                                  `I = ${significant(point.x)}`,
                              }));
      // Before the prediction the point stands on the axis: its height is the answer.
      const floor = model.roof.compute / 190;
      const shown = revealed ? points : [{...points[step], y: Math.min(floor, points[step].y)}];
      const arrows = revealed ? points.slice(1).map((point, index) => [points[index], point]) : [];
      return chart(
          width, Math.min(400, Math.max(280, width * 0.56)), model.roof, shown, arrows,
          revealed ?
              `Roofline; ${rate(points[step].y)} at ${significant(points[step].x)} FLOP a byte` :
              'Roofline');
    },

    say(model, step, revealed) {
      const point = model.points[step];
      const bytes = step === 0 ? 'The kernel as it is' :
                                 `Bytes halved ${step === 1 ? 'once' : `${step} times`}`;
      if (!revealed) return `${bytes}: I = ${significant(point.x)} FLOP a byte.`;
      const before = step > 0 ? model.points[step - 1].y : null;
      const gain =
          before === null ? '' : `, ${significant(point.y / before)} times the step before`;
      const why = point.x < model.ridge ? 'memory binds' :
                                          'the ceiling binds: fewer bytes gain nothing more';
      return `${bytes}: I = ${significant(point.x)} FLOP a byte, at most ${rate(point.y)}${gain}; ${
          why}.`;
    },

    prediction: {
      label: 'Your prediction: attainable rate',
      unit: 'GFLOP/s',
      answer: (model) => model.rate,
      because: (model) =>
          `min(${significant(model.roof.compute, 6)}, ${significant(model.intensity, 6)} · ${
              significant(model.roof.bandwidth, 6)}) = ${rate(model.rate)}.`,
    },

    answer: (model) => [
        ['Attainable', rate(model.rate), `min(ceiling, I · B), ${model.bound}-bound`],
        [
          'Ridge', `${significant(model.ridge)} FLOP/byte`,
          'ceiling / B: from here on arithmetic binds'
        ],
        [
          'Half the bytes', `at most ${significant(model.gain)} times as fast`,
          model.gain === 2 ? 'the twofold bound' : 'the ceiling cuts the twofold bound'
        ],
  ],

    more: () =>
        [element('h3', {}, 'What a roofline cannot show'),
         element(
             'p', {},
             'It has two rates and a ratio. It knows no registers, no spills, no launches, and not the graph: which value has a second consumer, which edge may vanish. A point below the roof says that something else binds, not what. The twofold bound is a hypothesis until these agree with it:'),
         element(
             'div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Evidence'},
             table(
                 ['evidence', 'where from', 'confirms', 'refutes'],
                 [
                   [
                     'registers', 'the compiler, ingot explain',
                     'blocks enough to keep memory busy', 'so many a thread that too few blocks fit'
                   ],
                   [
                     'spills', 'the compiler, ingot explain', '0 bytes stored and loaded',
                     'spilled bytes eat up the saved ones'
                   ],
                   [
                     'counters', 'ncu on a GPU, perf on a CPU',
                     'bytes at device memory fall by the saved bytes',
                     'they do not: a cache had kept the value'
                   ],
                   [
                     'time', 'ingot bench: both ways in turns', 'time falls with the bytes',
                     'time stays: launches, arithmetic or lost overlap'
                   ],
                 ])),
  ],

    question: {
      text:
          'A temporary of N bytes is written once and read once. Its two kernels become one, and it stays in registers. What does that save?',
      choices: [
        [
          'N bytes', false,
          'It was moved twice: the write by the producer and the read by the consumer.'
        ],
        [
          'Up to 2N bytes at that boundary', true,
          'One write and one read of N bytes vanish at the boundary where bytes are counted, device memory. “Up to”: if a cache held the temporary, part of that traffic never reached memory, and spills can bring traffic back.'
        ],
        [
          'Exactly 2N bytes, always', false,
          'If a cache between the kernels held the temporary, less than 2N reached memory in the first place; and a spill in the fused kernel brings traffic back.'
        ],
        [
          'Half the time', false,
          'Bytes are not time. The inputs and outputs are still moved, and if arithmetic, launches or registers bind, fewer bytes gain less or nothing.'
        ],
      ],
    },
  });
})();
