/** The number of letters that must be added, removed, replaced or swapped to turn one word into the other. */
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

const normalize = (word: string): string => word.toLowerCase().replace(/[^a-z0-9]/g, '')

/** No known name is longer than this, so a longer word is not a misspelling of one. */
const MAX_LENGTH = 100

/** Returns the known word that is most similar, undefined if none is similar. `max_retries` and `maxRetries` count as equal. */
export function suggest(word: string, known: Iterable<string>): string | undefined {
  if (word.length > MAX_LENGTH) return undefined
  const normalized = normalize(word)
  let best: string | undefined
  let bestDistance = Math.max(1, Math.floor(normalized.length / 3)) + 1
  for (const candidate of known) {
    const candidateDistance = editDistance(normalized, normalize(candidate))
    if (candidateDistance < bestDistance) [best, bestDistance] = [candidate, candidateDistance]
  }
  return best
}
