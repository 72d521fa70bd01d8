// Traffic: bytes of a chain of stages, one kernel each, against one kernel for all.
(() => {
  const {svg, drawing, text} = ingot.dom;
  const {bytes, counted, exactBytes, integer, percent} = ingot.format;
  const gpus = ingot.dom.data().devices.filter((device) => device.kind === 'gpu');

  const CONSUMERS = {
    none: 'no other consumer',
    kept: 'yes: the fused kernel also stores t1',
    recomputed: 'yes: the other kernel computes t1 again',
    together: 'yes: one kernel computes both',
  };

  // Transfers of N elements each, by stage: what the separate kernels and the fused ones move.
  function transfers({stages, consumer}) {
    const second = consumer !== 'none' && stages > 1;
    const separate = Array.from({length: stages}, () => 2);
    if (second) separate.push(2);
    const fused = Array.from(
        {length: stages}, (_, stage) => (stage === 0 ? 1 : 0) + (stage === stages - 1 ? 1 : 0));
    if (second) {
      if (consumer === 'kept') fused[0] += 1;
      fused.push(consumer === 'together' ? 1 : 2);
    }
    return {separate, fused, second};
  }

  const upTo = (list, step) => list.slice(0, step).reduce((sum, value) => sum + value, 0);

  function lane(width, y, {kind, names, done, title, total}) {
    const left = 4;
    const pitch = (width - 2 * left) / names.length;
    const box = Math.min(118, pitch * 0.72);
    const at = (index) => left + pitch * (index + 0.5);
    const parts = [
      text(left, y + 12, title, {class: 'lane-title'}),
      text(width - left, y + 12, total, {class: 'lane-total', 'text-anchor': 'end'})
    ];
    const [top, bottom] = [y + 24, y + 92];
    parts.push(
        svg('rect',
            {class: 'memory', x: left, y: bottom, width: width - 2 * left, height: 22, rx: 4}),
        text(left + 8, bottom + 15, 'device memory', {class: 'memory-label'}));
    names.forEach((name, index) => {
      const state = index < done ? 'done' : index === done ? 'next' : '';
      parts.push(
          svg('rect', {
            class: `kernel ${state} ${kind}`,
            x: at(index) - box / 2,
            y: top,
            width: box,
            height: 30,
            rx: 5
          }),
          text(at(index), top + 20, name, {class: 'kernel-label', 'text-anchor': 'middle'}));
    });
    return {parts, at, box, top, bottom, pitch};
  }

  function arrow(x, from, to, label, active, kind) {
    const down = to > from;
    const head = down ? `M${x - 4},${to - 7}L${x},${to}L${x + 4},${to - 7}` :
                        `M${x - 4},${to + 7}L${x},${to}L${x + 4},${to + 7}`;
    return svg(
        'g', {class: `transfer ${active ? 'active' : ''} ${kind}`},
        svg('line', {x1: x, x2: x, y1: from, y2: to}), svg('path', {d: head}),
        label ? text(x + 5, (from + to) / 2 + 4, label, {class: 'transfer-label'}) : null);
  }

  function separateLane(width, model, step, y, total) {
    const {stages, separate, second} = model;
    const names = separate.map((_, index) => (index < stages ? `f${index + 1}` : 'g'));
    const title = `Separate: ${counted(names.length, 'kernel')}`;
    const {parts, at, box, top, bottom} =
        lane(width, y, {kind: 'separate', names, done: step, title, total});
    const tensor = (index) => (index === 0 ? 'x' : index === stages ? 'y' : `t${index}`);
    separate.forEach((_, index) => {
      const active = index < step;
      const other = second && index === stages;
      parts.push(
          arrow(
              at(index) - box / 4, bottom, top + 32, other ? 't1' : tensor(index), active, 'read'),
          arrow(
              at(index) + box / 4, top + 32, bottom, other ? 'z' : tensor(index + 1), active,
              'write'));
    });
    return parts;
  }

  function fusedLane(width, model, step, y, total) {
    const {stages, fused, second, consumer, spill} = model;
    const names = fused.map(
        (_, index) =>
            (index < stages ? `f${index + 1}` :
                 consumer === 'recomputed' ? 'f1, g' :
                                             'g'));
    const one = consumer === 'together' || !second;
    const title = one ? 'Fused: 1 kernel' : 'Fused: 2 kernels';
    const {parts, at, box, top, bottom, pitch} =
        lane(width, y, {kind: 'fused', names, done: step, title, total});
    const inOne = one ? names.length : stages;
    parts.unshift(svg('rect', {
      class: 'hull',
      x: at(0) - pitch * 0.46,
      y: top - 6,
      width: pitch * (inOne - 0.08),
      height: 42,
      rx: 9
    }));
    if (!one)
      parts.unshift(svg('rect', {
        class: 'hull',
        x: at(stages) - pitch * 0.46,
        y: top - 6,
        width: pitch * 0.92,
        height: 42,
        rx: 9
      }));
    for (let index = 1; index < stages; index += 1) {
      parts.push(svg('line', {
        class: `register ${index < step ? 'active' : ''}`,
        x1: at(index - 1) + box / 2,
        x2: at(index) - box / 2,
        y1: top + 15,
        y2: top + 15
      }));
    }
    parts.push(
        arrow(at(0) - box / 4, bottom, top + 37, 'x', step > 0, 'read'),
        arrow(at(stages - 1) + box / 4, top + 37, bottom, 'y', step >= stages, 'write'));
    if (second && consumer === 'kept')
      parts.push(arrow(at(0) + box / 4, top + 37, bottom, 't1', step > 0, 'write'));
    if (second && consumer !== 'together')
      parts.push(arrow(
          at(stages) - box / 4, bottom, top + 37, consumer === 'kept' ? 't1' : 'x', step > stages,
          'read'));
    if (second)
      parts.push(arrow(at(stages) + box / 4, top + 37, bottom, 'z', step > stages, 'write'));
    if (spill > 0) {
      const after = stages > 2 ? 1 : 0;  // clear of t1's arrow
      const x = stages > 1 ? (at(after) + at(after + 1)) / 2 : at(0);
      parts.push(
          arrow(x - 4, top + 37, bottom, '', step > 0, 'spill'),
          arrow(x + 10, bottom, top + 37, 'spill', step > 0, 'spill'));
    }
    return parts;
  }

  ingot.panels.push({
    id: 'traffic',
    title: 'Traffic',
    claim:
        'Separate kernels write every intermediate to memory and read it back. Each intermediate that stays in registers avoids one write and one read: at most 2 · N · s bytes.',
    fields: [
      {
        name: 'count',
        label: 'Elements N',
        unit: '',
        kind: 'number',
        value: 1000000,
        min: 1,
        max: 10000000000,
        log: true,
        whole: true
      },
      ingot.fields.elementSize,
      {
        name: 'stages',
        label: 'Stages k',
        unit: '',
        kind: 'number',
        value: 2,
        min: 1,
        max: 8,
        whole: true
      },
      {
        name: 'spill',
        label: 'Spilled values an element',
        unit: '× s',
        kind: 'number',
        value: 0,
        min: 0,
        max: 8,
        whole: true
      },
      {
        name: 'consumer',
        label: 'A second consumer g of t1?',
        kind: 'choice',
        value: 'none',
        choices: Object.entries(CONSUMERS)
      },
      {
        name: 'device',
        label: 'Last-level cache of',
        kind: 'choice',
        value: 'h200',
        choices: gpus.map((device) => [device.name, device.name])
      },
    ],

    model(values) {
      const {count, size, stages, spill} = values;
      const moved = transfers(values);
      const tensor = count * size;
      const sum = (list) => upTo(list, list.length) * tensor;
      const spilled = 2 * spill * tensor;
      const separate = sum(moved.separate);
      const fused = sum(moved.fused) + spilled;
      const device = gpus.find((row) => row.name === values.device);
      return {
        ...values,
        ...moved,
        tensor,
        spilled,
        separateBytes: separate,
        fusedBytes: fused,
        avoided: separate - fused,
        intermediates: stages - 1,
        device,
        fits: tensor <= device.cache_bytes
      };
    },

    steps: (model) => model.separate.length,

    draw(width, model, step, revealed) {
      const soFar = (list) => upTo(list, step) * model.tensor;
      const spilled = step > 0 ? model.spilled : 0;
      const shown = (value) => (revealed ? `${bytes(value)} moved` : '? moved');
      return drawing(
          width, 262, 'Bytes that separate and fused kernels move',
          separateLane(width, model, step, 0, shown(soFar(model.separate))),
          fusedLane(width, model, step, 136, shown(soFar(model.fused) + spilled)));
    },

    say(model, step, revealed) {
      if (step === 0)
        return `Each tensor has ${integer(model.count)} · ${model.size} = ${
            bytes(model.tensor)}. Step runs one stage, in both ways.`;
      if (step > model.stages)
        return revealed ? `The second consumer: separate kernels moved ${
                              bytes(model.separateBytes)}, fused ones ${bytes(model.fusedBytes)}.` :
                          'The second consumer runs.';
      const both = `Stage ${step}: the separate kernel reads ${bytes(model.tensor)} and writes ${
          bytes(model.tensor)}`;
      const kept = step === 1 && step < model.stages ?
          `the fused one reads x and keeps the result in registers${
              model.consumer === 'kept' ? ', and stores it for g' : ''}` :
          step < model.stages ? 'the fused one moves nothing' :
          model.stages === 1  ? 'the fused one as well' :
                                'the fused one writes y';
      return `${both}; ${kept}.`;
    },

    prediction: {
      label: 'Your prediction: bytes that fusing avoids',
      unit: 'B',
      answer: (model) => model.avoided,
      because: (model) => `${exactBytes(model.separateBytes)} − ${exactBytes(model.fusedBytes)} = ${
          exactBytes(model.avoided)}${model.avoided < 0 ? ': fusing moves more' : ''}.`,
    },

    answer(model) {
      const {stages, count, size, second, consumer} = model;
      const elements = `${integer(count)} · ${size}`;
      const rows = [
        [
          'Separate', exactBytes(model.separateBytes),
          second ? `2 · ${stages} · ${elements}, and 2 · ${elements} for g` :
                   `2k · N · s = 2 · ${stages} · ${elements}`
        ],
        [
          'Fused', exactBytes(model.fusedBytes),
          second || model.spill > 0 ?
              `${upTo(model.fused, model.fused.length)} · ${elements}${
                  model.spill > 0 ? ` and ${bytes(model.spilled)} of spills` : ''}` :
                                    `2 · N · s = 2 · ${elements}`
        ],
        [
          'Avoided', exactBytes(model.avoided),
          model.intermediates === 0 ?
              'one stage has no intermediate' :
              !second && model.spill === 0 ?
              `ΔQ = 2 · N · s for ${
                  model.intermediates === 1 ? 'the intermediate' :
                                              `each of ${model.intermediates} intermediates`}` :
                                              `${percent(model.avoided / model.separateBytes)} of the separate bytes`
        ],
      ];
      if (second)
        rows.push([
          'Second consumer', {
            kept: 'only its reads by f2 are avoided',
            recomputed: 't1 is never stored, f1 is computed twice',
            together: 't1 is never stored, x is read once'
          }[consumer],
          CONSUMERS[consumer].replace('yes: ', '')
        ]);
      if (model.spill > 0)
        rows.push([
          'Spills', `up to ${bytes(model.spilled)}`,
          'stored once and loaded once; the caches near the cores may absorb part of it'
        ]);
      rows.push([
        '“At most”', model.fits ? `down to 0 on ${model.device.name}` : 'close to all of it',
        model.fits ? `${bytes(model.tensor)} fits its cache of ${
                         bytes(model.device.cache_bytes)}: the read may never have reached memory` :
                     `${bytes(model.tensor)} does not fit the cache of ${
                         bytes(model.device.cache_bytes)} on ${model.device.name}`
      ]);
      return rows;
    },

    question: {
      text:
          'The intermediate t1 has a second consumer outside of the fused kernel, so the fused kernel stores it too. What does fusing f1 and f2 still avoid for t1?',
      choices: [
        [
          'Nothing: it is stored anyway', false,
          'The store stays, but f2 takes the value from a register: one read of N · s bytes is gone.'
        ],
        [
          'Its read by f2: N · s bytes', true,
          'The write stays because somebody else needs it, and so does that one’s read. Only the read between the two fused stages vanishes: half of the 2 · N · s of an intermediate that vanishes altogether.'
        ],
        [
          '2 · N · s, as before', false,
          'That needs the buffer to vanish. Here the write stays for the other consumer.'
        ],
      ],
    },
  });
})();
