// Counts unexpected errors by their text. A process that makes load must not grow, so the number of texts is limited.

const MAX_TEXTS = 50
const OTHER = 'other errors'

export class ProblemCounter {
  /** @type {Map<string, number>} */
  #counts = new Map()

  /** @param {string} text */
  add(text) {
    const key = this.#counts.has(text) || this.#counts.size < MAX_TEXTS ? text : OTHER
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
  }

  /** The texts with their numbers, the most frequent first. */
  list() {
    return [...this.#counts].sort(([, a], [, b]) => b - a).map(([text, count]) => `${count} × ${text}`)
  }
}
