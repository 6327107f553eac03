// The loops around a subject. A process measures one subject only, so each is compiled for that one.

/**
 * @typedef {() => PromiseLike<unknown>} Call
 *
 * @param {Call} call
 * @returns {import('./batch.mjs').Batch} calls that succeed, one after the other
 */
export function succeeding(call) {
  return {
    calls: 1,
    async run(times) {
      for (let i = 0; i < times; i++) await call()
    },
  }
}

/**
 * @param {Call} call
 * @returns {import('./batch.mjs').Batch} calls that fail, one after the other
 */
export function failing(call) {
  return {
    calls: 1,
    async run(times) {
      for (let i = 0; i < times; i++) {
        try {
          await call()
        } catch {}
      }
    },
  }
}

/**
 * @param {Call} call
 * @param {number} together
 * @returns {import('./batch.mjs').Batch} calls that fail, so many of them at a time
 */
export function failingTogether(call, together) {
  return {
    calls: together,
    async run(times) {
      for (let i = 0; i < times; i++) {
        const all = new Array(together)
        for (let j = 0; j < together; j++) all[j] = call()
        await Promise.allSettled(all)
      }
    },
  }
}
