// Residency: how many blocks a multiprocessor holds at once, and what limits it.
(() => {
  const {element, svg, drawing, text} = ingot.dom;
  const {bytes, integer, percent, significant} = ingot.format;
  const {devices, occupancy_rules: rules} = ingot.dom.data();
  const gpus = devices.filter((device) => device.kind === 'gpu');
  const bytesOfRegister = 4;

  const LIMITS = {
    threads: 'threads',
    blocks: 'block slots',
    registers: 'registers',
    shared: 'shared memory',
  };

  ingot.panels.push({
    id: 'residency',
    title: 'Residency',
    claim:
        'A multiprocessor holds whole blocks until the first of four supplies is used up. Registers are handed out in portions to whole warps, so the steps are coarse. This is the function that ingot plans with.',
    fields: [
      {
        name: 'device',
        label: 'Device',
        kind: 'choice',
        value: 'h200',
        choices: gpus.map((device) => [device.name, device.name])
      },
      {
        name: 'threads',
        label: 'Threads a block',
        unit: '',
        kind: 'number',
        value: 256,
        min: 1,
        max: 1024,
        whole: true
      },
      {
        name: 'registers',
        label: 'Registers a thread',
        unit: '',
        kind: 'number',
        value: 46,
        min: 1,
        max: 255,
        whole: true
      },
      {
        name: 'shared',
        label: 'Shared memory a block',
        unit: 'B',
        kind: 'number',
        value: 0,
        min: 0,
        max: 232448,
        whole: true,
        step: 256
      },
      {
        name: 'capped',
        label: 'Cap the registers (__launch_bounds__, maxrregcount)',
        kind: 'check',
        value: false
      },
      {
        name: 'cap',
        label: 'Cap',
        unit: 'registers',
        kind: 'number',
        value: 32,
        min: 16,
        max: 255,
        whole: true,
        when: (values) => values.capped
      },
    ],

    model({device: name, threads, registers, shared, capped, cap}) {
      const device = gpus.find((row) => row.name === name);
      const given = capped ? Math.min(registers, cap) : registers;
      const free = ingot.occupancy(device, rules, threads, registers, shared);
      const result = ingot.occupancy(device, rules, threads, given, shared);
      const overflow = registers - given;
      return {
        device,
        threads,
        registers,
        given,
        shared,
        capped,
        cap,
        free,
        result,
        overflow,
        spill: overflow * bytesOfRegister,
        spillBlock: overflow * bytesOfRegister * threads
      };
    },

    steps: (model) => model.result.blocks + 1,
    countIsAnswer: true,

    draw(width, model, step, revealed) {
      const blocks = Math.min(step, model.result.blocks);
      const grid = multiprocessor(width, model, blocks);
      const bars = limits(
          width, grid.height + 14, model, step > model.result.blocks || revealed, blocks, revealed);
      return drawing(
          width, bars.height, 'Warps of a multiprocessor and its four supplies', grid.nodes,
          bars.nodes);
    },

    say(model, step, revealed) {
      const {result} = model;
      if (result.blocks === 0)
        return revealed ?
            `No block fits: its ${
                LIMITS[result.limit]} are more than a multiprocessor has. Such a launch fails.` :
            'Step places blocks, one at a time.';
      if (step === 0) return `${result.warps} warps a block. Step places blocks, one at a time.`;
      if (step <= result.blocks)
        return `Block ${step} fits: ${integer(step * result.warps)} warps, ${
            integer(step * result.warps * result.perWarp)} registers taken.`;
      return `Block ${step} does not fit: ${LIMITS[result.limit]} are used up${
          step === result.blocks + 1 && revealed ?
              `. ${integer(result.blocks)} blocks, occupancy ${percent(result.occupancy)}` :
              ''}.`;
    },

    prediction: {
      label: 'Your prediction: blocks a multiprocessor',
      unit: 'blocks',
      answer: (model) => model.result.blocks,
      because: ({result, given}) => result.blocks === 0 ?
          `No block fits, for its ${LIMITS[result.limit]}.` :
          `First to bind: ${LIMITS[result.limit]}. ${given} registers a thread are ${
              integer(result.perWarp)} a warp after rounding up, so ${
              result.warpsByRegisters} warps find registers.`,
    },

    answer(model) {
      const {result, free, device, capped} = model;
      const rows = [
        ['Blocks', `${result.blocks}`, `limited by ${LIMITS[result.limit]}`],
        [
          'Occupancy', percent(result.occupancy),
          `${result.blocks * result.warps} of ${result.mostWarps} warps`
        ],
        [
          'By threads', `${result.by.threads}`,
          `${result.mostWarps} warps / ${result.warps} a block`
        ],
        ['By block slots', `${result.by.blocks}`, 'a limit of the multiprocessor'],
        [
          'By registers', `${result.by.registers}`,
          `${integer(result.perWarp)} a warp, in portions of ${
              device.register_allocation}, within each quarter of ${
              integer(device.registers_per_sm)}`
        ],
        [
          'By shared memory', `${result.by.shared}`,
          model.shared > device.shared_per_block ?
              `a block may have ${bytes(device.shared_per_block)}` :
              `${integer(device.shared_per_sm)} B / (${integer(model.shared)} + ${
                  integer(rules.block_reserve_bytes)} B reserved)`
        ],
      ];
      if (capped && model.overflow === 0)
        rows.push(['Cap', 'no effect', `the kernel needs ${model.registers} registers`]);
      if (capped && model.overflow > 0) {
        rows.push(
            [
              'Cap', `${free.blocks} → ${result.blocks} blocks`,
              `${model.registers} → ${model.given} registers a thread`
            ],
            [
              'Spill it may cost', `${integer(model.spill)} B a thread`,
              `at least, if all ${
                  model.registers} are live at once and nothing is computed again: ${
                  bytes(
                      model
                          .spillBlock)} a block, stored and loaded each time around. The compiler’s report has the real number`
            ]);
      }
      return rows;
    },

    more: () => element(
        'p', {class: 'aside'},
        'More resident warps hide more latency, up to the point where memory is busy all the time. Beyond it, higher occupancy gains nothing, and what it was bought with (spills, shorter rows in registers) costs.'),

    question: {
      text:
          'A cap brings a kernel from 40 to 32 registers a thread and occupancy from 75 % to 100 %. It becomes slower. What is the most likely reason?',
      choices: [
        [
          'Occupancy above 75 % is harmful by itself', false,
          'More warps do no harm by being there; something that was given up for them does.'
        ],
        [
          'The compiler spilled, and memory was busy before', true,
          'Eight registers had to go somewhere: to local memory, stored and loaded, which is traffic. And if 75 % already kept memory busy, there was no latency left to hide. The evidence: spilled bytes in the compiler’s report, bytes at device memory, and time in turns.'
        ],
        [
          'Blocks became smaller', false,
          'A cap changes registers a thread; the block keeps its threads.'
        ],
      ],
    },
  });

  function multiprocessor(width, model, blocks) {
    const {result} = model;
    const columns = width < 480 ? 16 : 32;
    const rows = Math.ceil(result.mostWarps / columns);
    const pitch = Math.min(22, width / columns);
    const cell = pitch - 3;
    const title = `Multiprocessor: ${result.mostWarps} places for warps`;
    const nodes = [text(0, 14, title, {class: 'lane-title'})];
    for (let warp = 0; warp < result.mostWarps; warp += 1) {
      const block = Math.floor(warp / result.warps);
      const taken = block < blocks;
      const [x, y] = [(warp % columns) * pitch, 26 + Math.floor(warp / columns) * pitch];
      nodes.push(
          svg('rect', {
            class: `warp ${taken ? `taken color-${block % 8}` : ''}`,
            x,
            y,
            width: cell,
            height: cell,
            rx: 3
          },
              svg('title', {}, taken ? `warp ${warp}, block ${block}` : `place ${warp}: free`)));
    }
    return {nodes, height: 26 + rows * pitch};
  }

  // A bar for each supply: how much of it the blocks so far take.
  function limits(width, top, model, named, blocks, revealed) {
    const {result, device, shared} = model;
    const taken = {
      threads: [blocks * result.warps, result.mostWarps, 'warps'],
      blocks: [blocks, device.max_blocks_per_sm, 'slots'],
      registers: [blocks * result.warps * result.perWarp, device.registers_per_sm, ''],
      shared: [blocks * (shared + rules.block_reserve_bytes), device.shared_per_sm, 'B'],
    };
    const nameWidth = width < 480 ? 100 : 116;
    const valueWidth = width < 480 ? 80 : 235;
    const length = width - nameWidth - valueWidth;
    const nodes = Object.entries(taken).map(([name, [used, all, unit]], index) => {
      const y = top + index * 30;
      const binds = named && name === result.limit;
      const share = Math.min(1, used / all);
      const amount = width < 480 ? `${significant(100 * share)} %` :
                                   `${integer(used)} of ${integer(all)} ${unit}`.trim();
      return svg(
          'g', {class: `supply ${binds ? 'binds' : ''}`},
          text(0, y + 14, LIMITS[name], {class: 'supply-name'}),
          svg('rect', {class: 'track', x: nameWidth, y: y + 3, width: length, height: 14, rx: 3}),
          svg('rect',
              {class: 'used', x: nameWidth, y: y + 3, width: length * share, height: 14, rx: 3}),
          text(
              nameWidth + length + 8, y + 14,
              binds ? `${width < 480 ? '' : `${amount}: `}binds${
                          revealed ? ` at ${result.by[name]}` : ''}` :
                                     amount,
              {class: 'supply-value'}));
    });
    return {nodes, height: top + 4 * 30};
  }
})();
