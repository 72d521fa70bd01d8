// Your kernels: the groups of a program on the roofline, with their resources.
(() => {
  const {element} = ingot.dom;
  const {bytes, counted, integer, microseconds, percent, significant} = ingot.format;
  const {chart} = ingot.roofline;
  const {explained, example} = ingot.dom.data();
  const program = ingot.kernels(explained);
  const {parts, model: device} = program;
  const totals = explained.totals;
  const slowest = parts.reduce((most, part) => (part.us > most.us ? part : most), parts[0] || null);
  const BOUNDS = {
    memory: 'memory: bytes moved',
    compute: 'compute: arithmetic',
    launch: 'launch: starting the kernels'
  };
  const timed = (part) => (part.measured ? 'measured' : 'predicted');

  function resources({group}) {
    const found = group.resources;
    if (!found || found.registers === null)
      return [['Resources', 'none', 'a CPU kernel has no registers a thread or blocks']];
    return [
      ['Registers', `${found.registers} a thread`, `source: ${found.source}`],
      [
        'Spilled', bytes(found.spill_store_bytes + found.spill_load_bytes),
        'stored and loaded, a thread'
      ],
      [
        'Blocks', `${found.blocks_per_sm} a multiprocessor`,
        `of ${found.threads_per_block} threads, ${bytes(found.shared_bytes)} shared`
      ],
      ['Occupancy', percent(found.occupancy), `limited by ${found.occupancy_limit}`],
    ];
  }

  function inResidency({group}) {
    const found = group.resources;
    if (!found || !found.registers || device.kind !== 'gpu') return null;
    return element(
        'button', {
          type: 'button',
          onclick: () => ingot.lab.open('residency', {
            device: device.name,
            threads: found.threads_per_block,
            registers: found.registers,
            shared: found.shared_bytes
          })
        },
        'Residency');
  }

  const number = (value) => element('span', {class: 'number'}, value);

  function listing(frame) {
    const rows = parts.map((part, index) => {
      const {group} = part;
      const found = group.resources || {};
      const shown = (value) => number(value === null || value === undefined ? '–' : integer(value));
      return element(
          'tr', {},
          element(
              'td', {},
              element(
                  'button', {
                    type: 'button',
                    class: 'link',
                    onclick: () => frame.advance(index + 1 - frame.step)
                  },
                  group.name)),
          [
            group.kind, group.bound, number(bytes(part.bytes)),
            number(part.separate ? bytes(part.separate.bytes) : '–'),
            number(microseconds(group.predicted_us)),
            number(group.measured_us === null ? '–' : microseconds(group.measured_us)),
            shown(found.registers), shown(found.blocks_per_sm),
            number(typeof found.occupancy === 'number' ? percent(found.occupancy) : '–'),
            inResidency(part)
          ].map((value) => element('td', {}, value)));
    });
    return element(
        'div', {class: 'scroll tall', tabindex: 0, role: 'region', 'aria-label': 'Groups'},
        element(
            'table', {},
            element(
                'thead', {},
                element(
                    'tr', {},
                    [
                      'group', 'kind', 'bound', 'bytes', 'apart', 'predicted', 'measured',
                      'registers', 'blocks', 'occupancy', ''
                    ].map((name) => element('th', {scope: 'col'}, name)))),
            element('tbody', {}, rows)));
  }

  ingot.panels.push({
    id: 'kernels',
    title: 'Your kernels',
    claim: example
      ? [`No file was given, so this is an example, ${explained.graph} on ${explained.device}. For kernels of yours: `, element('code', {}, 'ingot lab model.onnx'), '; with ', element('code', {}, '--measure'), ' their times on this machine stand beside the predicted ones.']
      : `The groups of ${explained.graph} on ${explained.device}: where they stand, and what they take.`,
    fields: [],
    model: () => program,
    steps: () => parts.length,

    draw(width, model, step, revealed) {
      const chosen = step - 1;
      const points = [];
      const arrows = [];
      parts.forEach((part, index) => {
        const title = `${part.group.name}: ${significant(part.fused.x)} FLOP a byte, ${timed(part)} ${microseconds(part.us)}`;
        points.push({ ...part.fused, kind: index === chosen ? 'chosen' : 'fused', title, label: index === chosen ? part.group.name : '' });
        if (index !== chosen || !part.separate) return;
        const apart = { ...part.separate, kind: 'separate', label: counted(part.kernelsApart, 'kernel'), below: true, title: `${part.kernelsApart} separate, predicted ${microseconds(part.separate.us)}` };
        points.push(apart);
        arrows.push([apart, part.fused]);
      });
      const compute = chosen >= 0 ? parts[chosen].compute : device.f32_gflops;
      return chart(width, Math.min(400, Math.max(280, width * 0.56)), { bandwidth: device.copy_gbs, compute }, points, arrows,
        `Roofline of ${device.name} with ${counted(parts.length, 'group')}`);
    },

    say(model, step) {
      if (step === 0) return `${counted(totals.ops, 'op')}, ${counted(totals.kernels_separate, 'kernel')} apart, ${counted(parts.length, 'group')} fused. Step goes through the groups.`;
      const part = parts[step - 1];
      const { group } = part;
      const intensity = part.separate ? `${significant(part.separate.x)} → ${significant(part.fused.x)}` : significant(part.fused.x);
      return `${group.name} (${group.ops.join(', ')}): ${intensity} FLOP a byte, ${timed(part)} ${microseconds(part.us)}. ${group.reason}`;
    },

    prediction: {
      label: slowest ? `Your prediction: what binds ${slowest.group.name}, the group that takes longest?` : 'Your prediction',
      choices: Object.entries(BOUNDS),
      answer: () => (slowest ? slowest.group.bound : ''),
      because: () => slowest ? `${BOUNDS[slowest.group.bound]}. It moves ${bytes(slowest.bytes)} and takes ${microseconds(slowest.us)} (${timed(slowest)}).` : 'The program has no kernels.',
    },

    answer: () => slowest ? [
      ['Bytes', `${bytes(totals.bytes_separate)} → ${bytes(totals.bytes_fused)}`, `${bytes(totals.bytes_saved)} saved at most`],
      ['Predicted', `${microseconds(totals.predicted_us_separate)} → ${microseconds(totals.predicted_us_fused)}`, 'by the device model'],
      ['Measured', totals.measured_us_fused === null ? 'not yet' : `${microseconds(totals.measured_us_separate)} → ${microseconds(totals.measured_us_fused)}`, totals.measured_us_fused === null ? 'ingot lab FILE --measure, where the device is here' : 'medians of one run'],
      ['Slowest group', slowest.group.name, `${slowest.group.bound}-bound`],
      ...resources(slowest),
    ] : [],

    more: (model, frame) => listing(frame),
    follow(below, step) {
      below.querySelectorAll('tbody tr').forEach((row, index) => row.classList.toggle('chosen', index === step - 1));
    },

    question: {
      text: `Fused, the program moves ${bytes(totals.bytes_fused)} instead of ${bytes(totals.bytes_separate)}. What does that promise about its time?`,
      choices: [
        [`It falls by ${significant(totals.bytes_separate / totals.bytes_fused)} times`, false, 'Only if memory binds every kernel before and after, and no cache kept the values. That is a bound, not a promise.'],
        [`It can fall by ${significant(totals.bytes_separate / totals.bytes_fused)} times ${totals.bytes_saved > 0 ? 'at most, from bytes alone' : 'from bytes: not at all'}`, true, 'Where memory binds, time goes with bytes. Arithmetic and launches have their own share, spills take some back, and what a cache kept was never moved. So the bytes are a hypothesis; ingot bench gives the evidence.'],
        ['Nothing at all', false, 'Where memory binds, it does bound the gain; it says what to expect and to check.'],
      ],
    },
  });
})();
