import { readFileSync, writeFileSync } from 'node:fs'

/**
 * Replaces the part of a page between two comments, which is written by a command.
 *
 * @param {string} page the path of the page
 * @param {{ begin: string, end: string }} markers the comments before and after the part
 * @param {(section: string) => string} update from the text between the comments to the new one
 * @returns {string} the new text
 */
export function replaceSection(page, { begin, end }, update) {
  const text = readFileSync(page, 'utf8')
  const start = text.indexOf(begin)
  const stop = text.indexOf(end, start)
  if (start < 0 || stop < 0) throw new Error(`${page}: expected the lines ${begin} and ${end}`)
  const section = update(text.slice(start + begin.length, stop))
  writeFileSync(page, `${text.slice(0, start)}${begin}\n\n${section}\n\n${text.slice(stop)}`)
  return section
}
