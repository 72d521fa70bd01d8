// Blocks of a grid that need a value of all of them: what each does at each moment.
//
// simulate(design, blocks, resident) gives the moments: [{ blocks: [state], partials: [number |
// null], note }], and the outcome: 'right', 'small' (somebody took an unfinished total), 'never'
// (no progress) or 'refused' (the launch fails).
(() => {
  const VALUES = [3, 1, 4, 1, 5, 9, 2, 6];  // each block's share of the total
  const portableCluster = 8;

  const DESIGNS = {
    block_barrier: {
      name: 'a block barrier only',
      supported: false,
      program: ['sum', 'store', 'barrier', 'read', 'done'],
    },
    spin: {
      name: 'spinning on the other blocks',
      supported: false,
      program: ['sum', 'store', 'spin', 'read', 'done'],
    },
    kernel_boundary: {
      name: '1. kernel boundary',
      supported: true,
      program: ['sum', 'store', 'done'],
      second: ['read', 'done'],
    },
    last_arriving: {
      name: '2. last-arriving block, ordered partials',
      supported: true,
      program: ['sum', 'store', 'count', 'read if last', 'done'],
    },
    cluster: {
      name: '3. cluster barrier',
      supported: true,
      all: true,
      program: ['sum', 'store', 'cluster barrier', 'read', 'done'],
    },
    cooperative: {
      name: '4. cooperative launch, grid barrier',
      supported: true,
      all: true,
      program: ['sum', 'store', 'grid barrier', 'read', 'done'],
    },
  };

  const NOTES = {
    sum: 'summing up',
    store: 'storing a partial',
    barrier: 'at a barrier of its own threads',
    count: 'counting in',
    spin: 'spinning until all partials are there',
    'cluster barrier': 'at the barrier of the cluster',
    'grid barrier': 'at the barrier of the grid',
    'read if last': 'not the last',
    done: 'at the end',
  };

  // "Blocks 0 to 3: summing up; block 4: storing a partial": blocks that do the same in one phrase.
  function phrase(acts) {
    const together = new Map();
    for (const [block, words] of acts) together.set(words, [...(together.get(words) || []), block]);
    const list = (blocks) => {
      const inRow = blocks.length > 2 && blocks.every((block, i) => block === blocks[0] + i);
      return inRow ? `${blocks[0]} to ${blocks[blocks.length - 1]}` : blocks.join(' and ');
    };
    const parts = [...together].map(
        ([words, blocks]) => `block${blocks.length > 1 ? 's' : ''} ${list(blocks)}: ${words}`);
    const text = parts.join('; ');
    return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
  }

  function refusal(design, blocks, resident) {
    if (design === 'cluster' && blocks > portableCluster)
      return `a cluster has at most ${portableCluster} blocks`;
    if (DESIGNS[design].all && blocks > resident) {
      return design === 'cluster' ?
          `the ${blocks} blocks of a cluster have to be resident together, and ${resident} fit` :
          `a cooperative launch of ${blocks} blocks where ${resident} fit fails with an error`;
    }
    return '';
  }

  // One pass of a kernel over its blocks. Reads see what was stored in earlier moments.
  function pass(program, world, resident, moments, kernel) {
    const blocks = world.partials.length;
    const at = Array(blocks).fill(-1);  // -1: not started
    const finished = (block) => at[block] === program.length - 1;
    while (!at.every((_, block) => finished(block))) {
      const before = {partials: [...world.partials], at: [...at]};
      const running = at.filter((place, block) => place >= 0 && !finished(block)).length;
      let free = resident - running;
      const acts = [];
      for (let block = 0; block < blocks; block += 1) {
        if (before.at[block] < 0) {
          if (free <= 0) continue;
          free -= 1;
          at[block] = 0;
        } else if (!finished(block) && mayPass(program[at[block]], before, program)) {
          at[block] += 1;
        } else {
          continue;
        }
        acts.push([block, act(program[at[block]], block, world, before)]);
      }
      const stuck = acts.length === 0;
      moments.push({
        kernel,
        blocks: at.map((place) => (place < 0 ? 'waiting' : program[place])),
        partials: [...world.partials],
        total: world.total,
        arrived: world.arrived,
        note: stuck ?
            'No block can go on: the resident ones wait for blocks that cannot start until one of them ends.' :
            phrase(acts),
      });
      if (stuck) return false;
    }
    return true;
  }

  function mayPass(step, before, program) {
    if (step === 'spin' || step === 'cluster barrier' || step === 'grid barrier') {
      return before.at.every((place) => place >= program.indexOf(step));
    }
    return true;
  }

  function act(step, block, world, before) {
    if (step === 'store') world.partials[block] = VALUES[block];
    if (step === 'count') world.arrived += 1;
    const last = step === 'count' && world.arrived === world.partials.length;
    if (last) world.last = block;
    if (step === 'read' || (step === 'read if last' && world.last === block)) {
      const seen = before.partials.filter((value) => value !== null);
      const total = seen.reduce((sum, value) => sum + value, 0);
      if (world.total === null) world.total = total;
      world.reads.push(total);
      return `taking ${total} from ${seen.length} of ${world.partials.length} partials`;
    }
    return last ? 'counting in, as the last' : NOTES[step];
  }

  function simulate(design, blocks, resident) {
    const {program, second} = DESIGNS[design];
    const right = VALUES.slice(0, blocks).reduce((sum, value) => sum + value, 0);
    const world =
        {partials: Array(blocks).fill(null), total: null, arrived: 0, last: null, reads: []};
    const start = {
      kernel: 0,
      blocks: Array(blocks).fill('waiting'),
      partials: [...world.partials],
      total: null,
      arrived: 0,
      note: `${blocks} blocks, of which ${resident} fit on the device at once.`
    };
    const moments = [start];
    const why = refusal(design, blocks, resident);
    if (why) {
      moments.push({...start, note: `Refused: ${why}.`});
      return {moments, right, first: null, outcome: 'refused', why};
    }
    let ended = pass(program, world, resident, moments, 1);
    if (ended && second) {
      moments.push({
        ...moments[moments.length - 1],
        blocks: Array(blocks).fill('waiting'),
        kernel: 2,
        note: 'The first kernel has ended: all its stores are visible to the next one.'
      });
      ended = pass(second, world, resident, moments, 2);
    }
    const outcome = !ended                           ? 'never' :
        world.reads.some((total) => total !== right) ? 'small' :
                                                       'right';
    return {moments, right, first: world.total, outcome, why: ''};
  }

  ingot.grid = {DESIGNS, simulate};
})();
