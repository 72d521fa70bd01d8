// Synchronization: when is a value of all blocks complete?
(() => {
  const {element, svg, drawing, text} = ingot.dom;
  const {DESIGNS, simulate} = ingot.grid;

  const OUTCOMES = {
    right: 'the right total',
    small: 'a total that is too small',
    never: 'it never ends',
    refused: 'the launch is refused',
  };
  const SHORT = {
    waiting: '',
    sum: 'sum',
    store: 'store',
    barrier: 'barrier',
    count: 'count',
    read: 'read',
    'read if last': 'last?',
    spin: 'spin',
    'cluster barrier': 'wait',
    'grid barrier': 'wait',
    done: 'done',
  };
  // Where the cells are too narrow for words; a line below explains them.
  const SIGNS = {
    waiting: '',
    sum: 'Σ',
    store: '↓',
    barrier: '|',
    count: '+1',
    read: '↑',
    'read if last': '?',
    spin: '↻',
    'cluster barrier': '…',
    'grid barrier': '…',
    done: '✓',
  };
  const wideCell = 44;
  const ABOUT = {
    block_barrier:
        'A block barrier holds the threads of one block together. It says nothing about other blocks: some may be behind, some have not even started.',
    spin:
        'A block that spins keeps its place. If a block it waits for has no place to start on, neither ever ends. It may work for years, on devices with room for all.',
    kernel_boundary:
        'The second kernel starts when all blocks of the first have ended. Always right; costs a launch, and the value goes through memory.',
    last_arriving:
        'Each block stores its partial and counts itself in; the one that counts last reads all partials in the order of their blocks, so the bits do not depend on who was last. Nobody waits. It suits a consumer so small that one block can do it.',
    cluster:
        'The blocks of a cluster are started together, so they may wait for each other. The value has to be one of the cluster: at most 8 blocks everywhere, 16 where the device allows.',
    cooperative:
        'The driver starts all blocks together or refuses, so a barrier over the grid cannot hang. The grid may be no larger than what fits at once.',
  };

  ingot.panels.push({
    id: 'synchronization',
    title: 'Synchronization',
    claim:
        'A consumer of a sum over all blocks may run only when every block has added its share. Blocks start when a place is free, in no promised order, and a block barrier does not cover the grid.',
    fields: [
      {
        name: 'design',
        label: 'Design',
        kind: 'choice',
        value: 'block_barrier',
        choices: Object.entries(DESIGNS).map(
            ([id, design]) => [id, design.supported ? design.name : `wrong: ${design.name}`])
      },
      {
        name: 'blocks',
        label: 'Blocks of the grid',
        unit: '',
        kind: 'number',
        value: 6,
        min: 2,
        max: 8,
        whole: true
      },
      {
        name: 'resident',
        label: 'Blocks that fit at once',
        unit: '',
        kind: 'number',
        value: 4,
        min: 1,
        max: 8,
        whole: true
      },
    ],

    model({design, blocks, resident}) {
      return {
        design,
        blocks,
        resident,
        about: ABOUT[design],
        ...simulate(design, blocks, resident)
      };
    },

    steps: (model) => model.moments.length - 1,

    draw(width, model, step, revealed) {
      const {moments, blocks} = model;
      const nameWidth = 62;
      const partialWidth = 74;
      const pitch = (width - nameWidth - partialWidth) / (moments.length - 1);
      const row = 30;
      const top = 26;
      const now = moments[step];
      const nodes = [
        text(nameWidth, 14, 'time →', {class: 'axis'}),
        text(width, 14, 'partial', {class: 'axis', 'text-anchor': 'end'})
      ];
      for (let block = 0; block < blocks; block += 1) {
        const y = top + block * row;
        nodes.push(text(0, y + 18, `block ${block}`, {class: 'block-name'}));
        for (let moment = 1; moment < moments.length; moment += 1) {
          const shown = moment <= step;
          const state = shown ? moments[moment].blocks[block] : '';
          const kind = !shown     ? 'later' :
              state === 'waiting' ? 'waiting' :
                                    state.replace(/ /g, '-');
          const x = nameWidth + (moment - 1) * pitch;
          nodes.push(
              svg('rect', {
                class: `moment ${kind}`,
                x: x + 1,
                y,
                width: Math.max(1, pitch - 2),
                height: row - 5,
                rx: 3
              },
                  svg('title', {}, shown ? `block ${block}: ${state}` : '')));
          const words = pitch > wideCell ? SHORT : SIGNS;
          if (shown)
            nodes.push(text(
                x + pitch / 2, y + 17, words[state],
                {class: `moment-label ${kind}`, 'text-anchor': 'middle'}));
        }
        const partial = now.partials[block];
        nodes.push(
            svg('rect', {
              class: `partial ${partial === null ? '' : 'stored'}`,
              x: width - 44,
              y,
              width: 44,
              height: row - 5,
              rx: 3
            }),
            text(
                width - 22, y + 17, partial === null ? '–' : partial,
                {class: 'partial-label', 'text-anchor': 'middle'}));
      }
      const bottom = top + blocks * row + 18;
      const total = now.total === null ? 'not yet' : revealed ? now.total : '?';
      nodes.push(
          text(0, bottom, `total taken: ${total}`, {class: 'lane-title'}),
          text(
              width, bottom, revealed ? `right: ${model.right}` : 'right: ?',
              {class: 'lane-total', 'text-anchor': 'end'}));
      const states = new Set(
          moments.flatMap((moment) => moment.blocks).filter((state) => state !== 'waiting'));
      const legend = pitch > wideCell ?
          null :
          text(
              0, bottom + 22,
              [...states].map((state) => `${SIGNS[state]} ${SHORT[state]}`).join('   '),
              {class: 'axis'});
      return drawing(
          width, bottom + (legend ? 32 : 10), `Blocks over time, ${DESIGNS[model.design].name}`,
          nodes, legend);
    },

    say(model, step, revealed) {
      const {note} = model.moments[step];
      if (revealed) return note;
      return note.startsWith('Refused') ?
          'The launch is over. What came of it?' :
          note.replace(/taking \d+ from \d+ of \d+ partials/g, 'taking the total');
    },

    prediction: {
      label: 'Your prediction: what comes of it?',
      choices: Object.entries(OUTCOMES),
      answer: (model) => model.outcome,
      because(model) {
        const {outcome, first, right, why} = model;
        if (outcome === 'small') return `The first reader takes ${first}; all shares are ${right}.`;
        if (outcome === 'never') return 'The resident blocks wait for blocks that cannot start.';
        if (outcome === 'refused') return `Refused: ${why}.`;
        return DESIGNS[model.design].supported ?
            `Every reader takes ${right}.` :
            `Every reader takes ${
                right} here, by luck: all blocks fit and keep step. Nothing promises that.`;
      },
    },

    answer: (model) => [
        ['Outcome', OUTCOMES[model.outcome], model.why],
        [
          'First total taken', model.first === null ? 'none' : `${model.first}`,
          `all shares: ${model.right}`
        ],
        [
          'Promised?', DESIGNS[model.design].supported ? 'yes' : 'no',
          DESIGNS[model.design].supported ? 'a supported design' :
                                            'not even where it happens to work'
        ],
  ],

    more: (model) => element('p', {class: 'aside'}, model.about),

    question: {
      text:
          'Why does a barrier of the block (__syncthreads) not make a sum over the whole grid complete?',
      choices: [
        [
          'It is too slow for so many threads', false,
          'Speed is not the matter: it does not wait for other blocks at all.'
        ],
        [
          'It waits for its own block’s threads only; other blocks may not have started', true,
          'Blocks are independent by design, so that any number of them runs on any device. With more blocks than places, later ones start only when earlier ones end. So the end of the kernel, a counter with a last-arriving block, a cluster, or a cooperative launch has to say that all are there.'
        ],
        [
          'Stores before it are not visible to other blocks', false,
          'A fence makes them visible, and even then nothing says that the other blocks have made theirs.'
        ],
      ],
    },
  });
})();
