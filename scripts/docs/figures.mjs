// The figures of README.md, taken from bench/RESULTS.md. `node scripts/docs/figures.mjs` writes them; test/readme.test.ts fails
// when they differ.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../packages.mjs'

const MARKS = /(<!-- figures -->\n\n)[\s\S]*?(<!-- end of figures -->)/

/** The columns of the table and the beginning of their rows in RESULTS.md. */
const LIBRARIES = ['holdfast', 'cockatiel', 'opossum + p-retry', 'Effect']

/** The rows of the table: the case and the column in RESULTS.md. */
const ROWS = [
  { text: 'a call that succeeds: retry and breaker', name: 'success', column: 'per call' },
  { text: 'the same with two timeouts', name: 'timeouts', column: 'per call' },
  { text: 'a call that an open breaker rejects', name: 'refusal', column: 'per call' },
  { text: 'size, minified and gzipped', name: 'loading', column: 'size' },
  { text: 'dependencies', name: 'loading', column: 'dependencies' },
]

/** @param {string} line */
const cellsOf = (line) =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim())

/**
 * @param {string} results the text of RESULTS.md
 * @param {{ name: string, column: string, library: string }} wanted
 */
function figureOf(results, { name, column, library }) {
  const [, section = ''] = results.split(`\n\`${name}\`. `)
  const [head = '', , ...rows] = section.split('\n## ', 1)[0]?.match(/^\|.*\|$/gm) ?? []
  const index = cellsOf(head).indexOf(column)
  // A breaker alone is measured without the library for retries.
  const names = [library, library.split(' + ')[0] ?? '']
  const cells = rows.map(cellsOf)
  const row = names.flatMap((each) => cells.filter(([label]) => label?.startsWith(each)))[0]
  const figure = row?.[index]
  if (!figure) throw new Error(`bench/RESULTS.md has no figure for ${name}, ${library}, ${column}`)
  return figure
}

/** @param {string} results the text of RESULTS.md @returns {string} Markdown */
export function figuresTable(results) {
  const [, machine] = results.match(/(Node [^;\n]*; holdfast [^\n]*)\./) ?? []
  if (machine === undefined) throw new Error('bench/RESULTS.md does not begin with versions')
  const rows = ROWS.map(({ text, name, column }) => [
    text,
    ...LIBRARIES.map((library) => figureOf(results, { name, column, library })),
  ])
  return [
    `Written by \`npm run bench\`: ${machine}.`,
    '',
    `| | ${LIBRARIES.join(' | ')} |`,
    `|---|${'---:|'.repeat(LIBRARIES.length)}`,
    ...rows.map((cells) => `| ${cells.join(' | ')} |`),
  ].join('\n')
}

const read = (/** @type {string} */ file) => readFileSync(join(root, file), 'utf8')

/** @returns {string} README.md with the figures of RESULTS.md */
export function readmeWithFigures() {
  const readme = read('README.md')
  if (!MARKS.test(readme)) throw new Error('README.md has no place for figures')
  const table = figuresTable(read('bench/RESULTS.md'))
  return readme.replace(MARKS, (_, start, end) => `${start}${table}\n\n${end}`)
}

export const writeFigures = () => writeFileSync(join(root, 'README.md'), readmeWithFigures())

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) writeFigures()
