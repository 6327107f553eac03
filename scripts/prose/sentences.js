// textlint: sentences that need two readings.

/** A longer sentence is split in two. */
const MAX_WORDS = 40

/** @type {import('@textlint/types').TextlintRuleModule} */
const rule = ({ Syntax, RuleError, getSource, locator, report }) => ({
  [Syntax.Paragraph](node) {
    for (const { text, index } of sentencesOf(getSource(node))) {
      const padding = locator.range([index, index + text.length])
      const words = text.match(/[\p{L}\p{N}]+(?:['’.\-_/][\p{L}\p{N}]+)*/gu)?.length ?? 0
      if (words > MAX_WORDS)
        report(node, new RuleError(`${words} words in one sentence, at most ${MAX_WORDS}`, { padding }))
      if (/^What\b/.test(text) && !text.endsWith('?'))
        report(node, new RuleError('name the subject in place of "What …"', { padding }))
    }
  },
})

export default rule

/**
 * Splits a paragraph into sentences. Code counts as one word, a link as its text.
 *
 * @param {string} source
 * @returns {{ text: string, index: number }[]}
 */
export function sentencesOf(source) {
  const blank = (/** @type {string} */ found, /** @type {string} */ kept) => kept.padEnd(found.length, ' ')
  const text = source
    .replaceAll(/(`+)[^`][^]*?\1/g, (found) => blank(found, 'code'))
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, (found, label) => blank(found, ` ${label}`))
  return [...text.matchAll(/[^.!?:;]+(?:[.!?:;](?!\s|$)[^.!?:;]*)*[.!?:;]?/g)]
    .map(({ 0: found, index }) => ({
      text: found.trim(),
      index: index + found.length - found.trimStart().length,
    }))
    .filter((sentence) => sentence.text !== '')
}
