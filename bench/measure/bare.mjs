// What a program would write without any library. Loops are written out, once for the bare work and once for a subject
// (`loops.mjs`): a loop that both share would be compiled for both and would flatter neither.
import { failFresh, failMade, succeed } from '../work.mjs'

/** @type {import('./batch.mjs').Batch} `await fn()`, one after the other */
export const bareCalls = {
  calls: 1,
  async run(times) {
    for (let i = 0; i < times; i++) await succeed()
  },
}

/**
 * @param {import('../work.mjs').Work} fail
 * @returns {import('./batch.mjs').Batch} three bare try/catch
 */
function threeTries(fail) {
  return {
    calls: 1,
    async run(times) {
      for (let i = 0; i < times; i++) {
        try {
          await fail()
        } catch {}
        try {
          await fail()
        } catch {}
        try {
          await fail()
        } catch {}
      }
    },
  }
}

/**
 * @param {import('../work.mjs').Work} fail
 * @param {number} together
 * @returns {import('./batch.mjs').Batch} three bare try/catch, so many of them at a time
 */
function threeTriesTogether(fail, together) {
  async function three() {
    try {
      await fail()
    } catch {}
    try {
      await fail()
    } catch {}
    try {
      await fail()
    } catch {}
  }
  return {
    calls: together,
    async run(times) {
      for (let i = 0; i < times; i++) {
        const all = new Array(together)
        for (let j = 0; j < together; j++) all[j] = three()
        await Promise.allSettled(all)
      }
    },
  }
}

export const bareFailures = {
  made: { fail: failMade, alone: threeTries(failMade), together: threeTriesTogether(failMade, 1000) },
  fresh: { fail: failFresh, alone: threeTries(failFresh), together: threeTriesTogether(failFresh, 1000) },
}
