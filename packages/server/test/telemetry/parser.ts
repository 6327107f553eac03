/** What a scraper reads: every sample by its name and labels. */
export interface Scraped {
  readonly types: ReadonlyMap<string, string>
  readonly samples: readonly { name: string; labels: Record<string, string>; value: number }[]
  /** The value of one sample. */
  value(name: string, labels?: Record<string, string>): number | undefined
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*/
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(,|(?=\}))/

function labelsOf(text: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {}
  let rest = text
  while (rest !== '}') {
    const found = LABEL.exec(rest)
    if (found === null) throw new Error(`bad labels: ${line}`)
    const [whole, name = '', value = ''] = found
    if (name in labels) throw new Error(`a label twice: ${line}`)
    labels[name] = value.replace(/\\(.)/g, (_, mark: string) => (mark === 'n' ? '\n' : mark))
    rest = rest.slice(whole.length)
  }
  return labels
}

const number = (text: string): number => {
  if (text === '+Inf') return Number.POSITIVE_INFINITY
  if (text === '-Inf') return Number.NEGATIVE_INFINITY
  if (text === 'NaN') return Number.NaN
  if (!/^-?\d+(\.\d+)?(e[+-]?\d+)?$/.test(text)) throw new Error(`no number: ${text}`)
  return Number(text)
}

/**
 * Reads the text format of Prometheus, version 0.0.4, as strictly as it is written down: types before samples, samples of a
 * metric together, no sample twice, histograms cumulative and complete.
 */
export function parse(text: string): Scraped {
  if (!text.endsWith('\n')) throw new Error('the last line does not end')
  const types = new Map<string, string>()
  const samples: Scraped['samples'][number][] = []
  const seen = new Set<string>()
  let current = ''
  for (const line of text.slice(0, -1).split('\n')) {
    const comment = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line)
    if (comment !== null) {
      const [, kind, name = '', rest = ''] = comment
      if (kind === 'TYPE') {
        if (types.has(name)) throw new Error(`a type twice: ${line}`)
        if (!['counter', 'gauge', 'histogram'].includes(rest)) throw new Error(`no type: ${line}`)
        types.set(name, rest)
        current = name
      }
      continue
    }
    const name = NAME.exec(line)?.[0] ?? ''
    const family = types.get(current) === 'histogram' ? name.replace(/_(bucket|sum|count)$/, '') : name
    if (name === '' || family !== current) throw new Error(`out of place: ${line}`)
    const rest = line.slice(name.length)
    const end = rest.startsWith('{') ? rest.lastIndexOf('} ') : -1
    const labels = end < 0 ? {} : labelsOf(rest.slice(1, end + 1), line)
    const value = number(end < 0 ? rest.slice(1) : rest.slice(end + 2))
    const key = JSON.stringify([name, Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1))])
    if (seen.has(key)) throw new Error(`a sample twice: ${line}`)
    seen.add(key)
    samples.push({ name, labels, value })
  }
  const fits = (labels: Record<string, string>, wanted: Record<string, string>) =>
    Object.entries(wanted).every(([name, value]) => labels[name] === value)
  checkHistograms(types, samples)
  return {
    types,
    samples,
    value: (name, wanted = {}) => samples.find((one) => one.name === name && fits(one.labels, wanted))?.value,
  }
}

function checkHistograms(types: Scraped['types'], samples: Scraped['samples']): void {
  const last = new Map<string, { le: number; value: number }>()
  for (const { name, labels, value } of samples) {
    const family = name.replace(/_(bucket|count)$/, '')
    if (family === name || types.get(family) !== 'histogram') continue
    const { le, ...others } = labels
    const key = JSON.stringify([family, others])
    const before = last.get(key) ?? { le: Number.NEGATIVE_INFINITY, value: 0 }
    if (le === undefined) {
      if (before.le !== Number.POSITIVE_INFINITY || before.value !== value)
        throw new Error(`${name}: the count is not that of the last bucket`)
      continue
    }
    const bound = number(le)
    if (bound <= before.le || value < before.value) throw new Error(`${name}: buckets are not in order`)
    last.set(key, { le: bound, value })
  }
}
