// Reads doc comments: the text before the first tag, and the text of each tag.

/**
 * @typedef {object} Doc
 * @property {string} summary the text before the first tag
 * @property {string | undefined} defaultValue
 * @property {string[]} throws
 * @property {string[]} examples
 * @property {Map<string, string>} params the description of each parameter
 * @property {string | undefined} returns
 * @property {boolean} isInternal
 */

const TAG = /(?<=^|\s)@(defaultValue|throws|param|returns|example|internal|packageDocumentation)\b\s*/

/**
 * Parses the text of a doc comment, its delimiters included. A tag can be at the end of a line. In a code block there are no
 * tags, because a line that begins with `@` can be a decorator.
 *
 * @param {string} comment
 * @returns {Doc}
 */
export function parseDocComment(comment) {
  const lines = comment
    .replace(/^\s*\/\*\*/, '')
    .replace(/\*\/\s*$/, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, '').trimEnd())
  const blocks = [{ tag: '', lines: /** @type {string[]} */ ([]) }]
  let isCode = false
  for (const line of lines) {
    if (line.startsWith('```')) isCode = !isCode
    // The pieces are the text before the first tag, and then each tag with its text.
    const [before = '', ...tags] = isCode ? [line] : line.split(TAG)
    if (tags.length === 0 || before.trim() !== '') blocks.at(-1)?.lines.push(before.trimEnd())
    for (let i = 0; i < tags.length; i += 2) blocks.push({ tag: tags[i] ?? '', lines: [tags[i + 1] ?? ''] })
  }
  const texts = blocks.map(({ tag, lines: own }) => ({ tag, text: own.join('\n').trim() }))
  const all = (/** @type {string} */ tag) =>
    texts.filter((block) => block.tag === tag).map(({ text }) => text)
  return {
    summary: texts[0]?.text ?? '',
    defaultValue: all('defaultValue')[0],
    throws: all('throws'),
    examples: all('example'),
    params: new Map(
      all('param').map((text) => {
        const [, name = '', description = ''] = text.match(/^(?:\{.*?\}\s*)?(\w+)\s*-?\s*([\s\S]*)$/) ?? []
        return [name, description]
      }),
    ),
    returns: all('returns')[0],
    isInternal: all('internal').length > 0,
  }
}

/** The doc of a declaration without a comment. */
export const NO_DOC = parseDocComment('')
