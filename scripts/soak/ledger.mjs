// Compares what the processes of the soak test have seen with the records: dead letters and counters. Pure.

/**
 * Checks that no acknowledged dead letter was lost and none was completed twice. The ledger has the lines `added KEY`,
 * `completed KEY ID` and `delivered KEY`; the entries are those that the store still has.
 *
 * @param {readonly string[]} lines
 * @param {readonly { itemId: string, status: string }[]} entries
 */
export function checkDeadLetters(lines, entries) {
  /** @type {Set<string>} */
  const added = new Set()
  /** @type {Map<string, Set<string>>} */
  const completed = new Map()
  /** @type {Map<string, number>} */
  const completions = new Map()
  /** @type {Set<string>} */
  const delivered = new Set()
  for (const line of lines) {
    const [what, key = '', id = ''] = line.split(' ')
    if (what === 'added') added.add(key)
    else if (what === 'delivered') delivered.add(key)
    else if (what === 'completed') {
      completed.set(key, (completed.get(key) ?? new Set()).add(id))
      completions.set(key, (completions.get(key) ?? 0) + 1)
    }
  }
  const stored = new Map(entries.map(({ itemId, status }) => [itemId, status]))
  /** @type {string[]} */
  const problems = []
  for (const key of added) {
    const status = stored.get(key)
    if (!completed.has(key) && status === undefined)
      problems.push(`dead letter ${key} was acknowledged and is lost`)
    if (completed.has(key) && status !== undefined && status !== 'completed')
      problems.push(`dead letter ${key} was reported as completed and is ${status}`)
    if (completed.has(key) && !delivered.has(key))
      problems.push(`dead letter ${key} was reported as completed and was not delivered`)
  }
  for (const [key, times] of completions)
    if (times > 1) problems.push(`dead letter ${key} was reported as completed ${times} times`)
  for (const [status, count] of countBy(entries.map(({ status }) => status)))
    if (status !== 'completed') problems.push(`${count} dead letters are ${status} after the last replay`)
  return { added: added.size, completed: completions.size, problems }
}

/** @param {readonly string[]} values */
function countBy(values) {
  /** @type {Map<string, number>} */
  const counts = new Map()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}

/**
 * @typedef {{ succeeded: number, failed: number, rejected: number }} SeenCalls `rejected` of `failed` had no attempt
 * @typedef {{ succeeded: number, recovered: number, failed: number, exhausted: number, rejections: Record<string, number> }} CountedCalls
 * @typedef {{ succeeded: number, failed: number, handled?: number }} Replays `handled` are the successes of the handler, which the store may not have recorded
 */

/** @param {Record<string, number>} counts */
const total = (counts) => Object.values(counts).reduce((sum, count) => sum + count, 0)

/**
 * Compares the counters of a runtime with the calls that a process made. A replay is a call of its operation, too. A replay
 * that leaves its entry as it was, for example because a breaker is open, is reported by no event, so such an operation can
 * have more rejections and failures than the process has seen. The same holds for a success that could not be recorded because
 * the store had failed: the entry is replayed again later.
 *
 * @param {string} process
 * @param {Record<string, SeenCalls>} seen by operation
 * @param {Record<string, CountedCalls>} counted by operation
 * @param {Record<string, Replays>} [replays] by operation
 */
export function checkCounters(process, seen, counted, replays = {}) {
  /** @type {string[]} */
  const problems = []
  for (const [operation, calls] of Object.entries(seen)) {
    const counters = counted[operation]
    if (counters === undefined) {
      problems.push(`${process}: no counters of ${operation}`)
      continue
    }
    const replayed = replays[operation]
    const rejected = total(counters.rejections)
    const compare = (
      /** @type {string} */ what,
      /** @type {number} */ count,
      /** @type {number} */ expected,
    ) => {
      if (count !== expected)
        problems.push(`${process}: ${operation} counted ${count} ${what}, expected ${expected}`)
    }
    const succeeded = counters.succeeded + counters.recovered
    const reported = calls.succeeded + (replayed?.succeeded ?? 0)
    const handled = calls.succeeded + (replayed?.handled ?? replayed?.succeeded ?? 0)
    if (succeeded < reported || succeeded > handled) compare('successes', succeeded, reported)
    const failed = counters.failed + counters.exhausted - rejected
    const expected = calls.failed - calls.rejected + (replayed?.failed ?? 0)
    if (replayed === undefined || failed < expected) compare('failures after an attempt', failed, expected)
    if (replayed === undefined || rejected < calls.rejected) compare('rejections', rejected, calls.rejected)
  }
  return problems
}
