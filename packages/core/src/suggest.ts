/** How many letters must be added, taken away, changed or swapped to make one word of another. */
export function editDistance(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      let best = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + cost)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, (before[j - 2] ?? 0) + 1)
      row.push(best)
    }
    before = last
    last = row
  }
  return last[b.length] ?? 0
}

const plain = (word: string): string => word.toLowerCase().replace(/[^a-z0-9]/g, '')

/** No known name is longer, so a longer word is not a misspelt one. */
const MAX_LENGTH = 100

/** The word most like another, where one is like it at all; `max_retries` and `maxRetries` are the same here. */
export function suggest(word: string, known: Iterable<string>): string | undefined {
  if (word.length > MAX_LENGTH) return undefined
  const normalized = plain(word)
  let best: string | undefined
  let bestDistance = Math.max(1, Math.floor(normalized.length / 3)) + 1
  for (const candidate of known) {
    const candidateDistance = editDistance(normalized, plain(candidate))
    if (candidateDistance < bestDistance) [best, bestDistance] = [candidate, candidateDistance]
  }
  return best
}
