// Finds the examples: the ```ts blocks of Markdown files, and those in the doc comments of sources.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** @typedef {{ file: string, line: number, code: string, run: boolean }} Example `line` is the first of the code. */

/** @param {string} root the repository @returns {Example[]} */
export function findExamples(root) {
  const below = (/** @type {string} */ folder) =>
    existsSync(join(root, folder))
      ? readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
          join(folder, name),
        )
      : []
  const packages = readdirSync(join(root, 'packages')).map((name) => join('packages', name))
  const documents = [
    ...readdirSync(root).filter((name) => name !== 'CHANGELOG.md'),
    ...below('docs'),
    ...packages.map((folder) => join(folder, 'README.md')).filter((file) => existsSync(join(root, file))),
  ].filter((file) => file.endsWith('.md'))
  const sources = packages
    .flatMap((folder) => below(join(folder, 'src')))
    .filter((file) => file.endsWith('.ts'))

  const read = (/** @type {string} */ file) => readFileSync(join(root, file), 'utf8')
  return [
    ...documents.toSorted().flatMap((file) => fromMarkdown(file, read(file))),
    ...sources.toSorted().flatMap((file) => fromSource(file, read(file))),
  ]
}

/**
 * @typedef {{ info: string, line: number, code: string }} Block a fenced block; `line` is the first of its code
 *
 * @param {string} file
 * @param {string} text
 * @param {number} firstLine the line of the file at which `text` begins
 * @returns {Block[]}
 */
export function blocksOf(file, text, firstLine = 1) {
  /** @type {Block[]} */
  const blocks = []
  /** @type {{ fence: string, indent: string, info: string, line: number, code: string[] } | undefined} */
  let open
  for (const [index, line] of text.split('\n').entries()) {
    const [, indent = '', fence, info = ''] = line.match(/^(\s*)(`{3,}|~{3,})(.*)$/) ?? []
    if (open === undefined) {
      if (fence) open = { fence, indent, info: info.trim(), line: firstLine + index + 1, code: [] }
    } else if (fence?.startsWith(open.fence) && info.trim() === '') {
      blocks.push({ info: open.info, line: open.line, code: open.code.join('\n') })
      open = undefined
    } else {
      open.code.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line.trimStart())
    }
  }
  if (open !== undefined) throw new Error(`${file}:${open.line - 1}: this block is never closed`)
  return blocks
}

/** @param {string} file @param {string} text @param {number} [firstLine] @returns {Example[]} */
export const fromMarkdown = (file, text, firstLine) =>
  blocksOf(file, text, firstLine).flatMap((block) => toExample(file, block))

/** @param {string} file @param {Block} block @returns {Example[]} */
function toExample(file, { info, line, code }) {
  const [language, ...flags] = info.split(/\s+/)
  if (language !== 'ts') return []
  const unknown = flags.find((flag) => flag !== 'no-run')
  if (unknown !== undefined)
    throw new Error(`${file}:${line - 1}: a ts block takes no-run, not \`${unknown}\``)
  return [{ file, line, code, run: flags.length === 0 }]
}

/** @param {string} file @param {string} text @returns {Example[]} */
export function fromSource(file, text) {
  return [...text.matchAll(/^[ \t]*\/\*\*[\s\S]*?\*\//gm)].flatMap(({ 0: comment, index }) => {
    const line = text.slice(0, index).split('\n').length
    const prose = comment
      .replace(/^[ \t]*\/\*\*/, '')
      .replace(/\*\/$/, '')
      .replace(/^[ \t]*\* ?/gm, '')
    for (const section of prose.split(/^\s*@example\b/m).slice(1)) {
      if (!/```ts\b/.test(section)) throw new Error(`${file}:${line}: an @example needs a \`\`\`ts block`)
    }
    return fromMarkdown(file, prose, line)
  })
}
