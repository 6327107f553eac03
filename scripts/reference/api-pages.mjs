// The pages of the API: one for each entry, exports by topic.
import { code, createAnchors, escapeText, fence, firstSentence, GENERATED, page, table } from './markdown.mjs'
import { TOPICS, topicOf } from './topics.mjs'

/** @typedef {import('./api-model.mjs').Entry} Entry */
/** @typedef {import('./api-model.mjs').Export} Export */
/** @typedef {import('./api-model.mjs').Member} Member */
/** @typedef {import('./doc-comment.mjs').Doc} Doc */
/** @typedef {(text: string) => string} Render */

/** Functions and classes come first, because types only describe what they take and return. */
const KINDS = ['function', 'class', 'const', 'interface', 'type']

const FOLDER = 'api'

/** @param {string} id the name by which an entry is imported */
export const fileOf = (id) => `${id.replace('@holdfast/', '').replaceAll('/', '-')}.md`

/** @param {Entry} entry @returns {{ title: string, guide: string | undefined, exports: Export[] }[]} */
function groupByTopic({ id, exports }) {
  const topics = TOPICS[id]?.topics ?? []
  const without = exports.filter(({ source }) => topicOf(id, source) === undefined)
  if (without.length > 0)
    throw new Error(
      `${without.map(({ name, source }) => `${name} (${source})`).join(', ')} of ${id} belongs to no topic: add one to scripts/reference/topics.mjs`,
    )
  return topics.map((one) => ({
    title: one.title,
    guide: one.guide,
    exports: exports
      .filter(({ source }) => topicOf(id, source) === one)
      .toSorted(
        (a, b) =>
          KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
      ),
  }))
}

/** The headings of a page in their order, with the anchor of each export. @param {Entry} entry */
function anchorsOf(entry) {
  const anchor = createAnchors()
  anchor(entry.id)
  anchor('Exports')
  /** @type {Map<string, string>} */
  const anchors = new Map()
  for (const { title, exports } of groupByTopic(entry)) {
    if (exports.length === 0) continue
    anchor(title)
    for (const one of exports.filter(({ entry: home }) => home === entry.id))
      anchors.set(one.name, anchor(one.name))
  }
  return anchors
}

/**
 * Exports and properties without a sentence.
 *
 * @param {Entry[]} entries
 * @returns {string[]}
 */
export function findUndocumented(entries) {
  const isOwn = (/** @type {Member} */ { name, doc }, /** @type {Export} */ { isComputed }) =>
    !isComputed && name !== '' && name !== 'constructor' && doc.summary === ''
  return entries.flatMap(({ id, exports }) =>
    exports
      .filter(({ entry }) => entry === id)
      .flatMap((one) => [
        ...(one.doc.summary === '' ? [`${one.name} (${one.source})`] : []),
        ...one.members
          .filter((member) => isOwn(member, one))
          .map(({ name }) => `${one.name}.${name} (${one.source})`),
      ]),
  )
}

/**
 * @param {Entry[]} entries
 * @returns {Map<string, string>} the text of each file below docs/reference
 */
export function apiPages(entries) {
  const anchors = new Map(entries.map((entry) => [entry.id, anchorsOf(entry)]))
  /** The address of an export, from the page of an entry. */
  const linkTo = (/** @type {string} */ name, /** @type {string} */ from) => {
    const own = anchors.get(from)?.get(name)
    if (own !== undefined) return `#${own}`
    for (const [id, known] of anchors)
      if (known.has(name)) return `${id === from ? '' : fileOf(id)}#${known.get(name)}`
    return undefined
  }
  return new Map(
    entries.map((entry, index) => {
      const render = (/** @type {string} */ text) => renderText(text, (name) => linkTo(name, entry.id))
      return [
        `${FOLDER}/${fileOf(entry.id)}`,
        entryPage(entry, 100 + index, render, (name) => linkTo(name, entry.id)),
      ]
    }),
  )
}

/** The words of a file's name. @param {string} file */
const guideTitle = (file) => (file.split('/').at(-1) ?? '').replace('.md', '').replaceAll('-', ' ')

/** The list of all pages. @param {Entry[]} entries */
export const apiIndex = (entries) =>
  table(
    ['entry', 'exports', 'contents'],
    entries.map(({ id, exports }) => [
      `[${code(id)}](${FOLDER}/${fileOf(id)})`,
      String(exports.length),
      escapeText(TOPICS[id]?.about ?? ''),
    ]),
  )

/** Doc text as Markdown. @param {string} text @param {(name: string) => string | undefined} linkTo */
function renderText(text, linkTo) {
  const linked = text.replace(/\{@link\s+([\w.]+)(?:\s*\|\s*([^}]+))?\}/g, (_, target, label) => {
    const [name = ''] = target.split('.')
    const link = linkTo(name)
    const shown = label?.trim() ?? code(target)
    return link === undefined ? shown : `[${shown}](${link})`
  })
  return escapeText(linked)
}

/**
 * @param {Entry} entry
 * @param {number} order of the page in the sidebar
 * @param {Render} render
 * @param {(name: string) => string | undefined} linkTo
 */
function entryPage(entry, order, render, linkTo) {
  const { id } = entry
  const topics = groupByTopic(entry).filter(({ exports }) => exports.length > 0)
  const nameList = (/** @type {Export[]} */ exports) =>
    exports
      .map(({ name }) => {
        const link = linkTo(name)
        return link === undefined ? code(name) : `[${code(name)}](${link})`
      })
      .join(', ')
  return page(
    `---\ngroup: API\norder: ${order}\n---`,
    `# ${id}`,
    GENERATED,
    TOPICS[id]?.about,
    fence(`import { … } from '${id}'`),
    '## Exports',
    table(
      ['topic', 'exports'],
      topics.map(({ title, exports }) => [title, nameList(exports)]),
    ),
    ...topics.flatMap(({ title, guide, exports }) => {
      const own = exports.filter(({ entry: home }) => home === id)
      const foreign = exports.filter(({ entry: home }) => home !== id)
      return [
        `## ${title}`,
        guide === undefined ? undefined : `Guide: [${guideTitle(guide)}](../../${guide}).`,
        ...own.map((one) => exportSection(one, render, linkTo)),
        foreign.length === 0
          ? undefined
          : table(
              ['also exported', 'kind', 'description', 'documented in'],
              foreign.map(({ name, kind, doc, entry: home }) => [
                code(name),
                kind,
                render(firstSentence(doc.summary)),
                `[${code(home)}](${linkTo(name)})`,
              ]),
            ),
      ]
    }),
  )
}

/** The sentence about the errors of a function; codes are links. @param {string} text @param {Render} render */
function throwsText(text, render) {
  const sentence = render(text).replace(
    /(?<!`)\b[A-Z]+(?:_[A-Z]+)+\b/g,
    (word) => `[${code(word)}](../error-codes.md)`,
  )
  return `**Throws** ${sentence}${/[.!?]$/.test(sentence) ? '' : '.'}`
}

/** @param {Doc} doc @param {Render} render */
function docSections(doc, render) {
  const { params, returns, throws, examples, defaultValue } = doc
  return [
    doc.summary === '' ? undefined : render(doc.summary),
    defaultValue === undefined ? undefined : `Default: ${render(defaultValue)}`,
    params.size === 0
      ? undefined
      : table(
          ['parameter', 'description'],
          [...params].map(([name, text]) => [code(name), render(text)]),
        ),
    returns === undefined ? undefined : `Returns ${render(returns)}`,
    ...throws.map((text) => `${throwsText(text, render)}`),
    ...examples.map((text) => text.replace(/^```ts\b.*$/gm, '```typescript')),
  ]
}

/**
 * @param {Export} one
 * @param {Render} render
 * @param {(name: string) => string | undefined} linkTo
 */
function exportSection(one, render, linkTo) {
  const { name, kind, signatures, doc, members, inherits, isTypeOnly, propertyOf } = one
  const properties = members.filter(({ isMethod }) => !isMethod)
  // The runtime creates its services.
  const methods = members.filter(
    (member) => member.isMethod && (propertyOf === undefined || member.name !== 'constructor'),
  )
  const signature = signatures.filter((text) => text !== '').join('\n')
  return page(
    `### ${name}`,
    isTypeOnly && (kind === 'const' || kind === 'function')
      ? `Only the type of this value is exported: ${code(`typeof ${name}`)}.`
      : undefined,
    propertyOf === undefined ? undefined : `The type of ${code(propertyOf)}. It is not exported by its name.`,
    signature === '' ? undefined : fence(signature),
    ...docSections(doc, render),
    properties.length === 0
      ? undefined
      : table(
          ['property', 'type', 'default', 'description'],
          properties.map((member) => [
            `${code(member.name + (member.isOptional ? '?' : ''))}${member.isStatic ? ' (static)' : ''}`,
            code(member.text),
            member.doc.defaultValue === undefined ? '' : render(member.doc.defaultValue),
            [render(member.doc.summary), ...member.doc.throws.map((text) => throwsText(text, render))]
              .filter((text) => text !== '')
              .join(' '),
          ]),
        ),
    inherits.length === 0
      ? undefined
      : `It also has the members of ${inherits
          .map((base) => {
            const link = linkTo(base)
            return link === undefined ? code(base) : `[${code(base)}](${link})`
          })
          .join(' and ')}.`,
    ...methods.flatMap((member) => [
      member.name === '' ? undefined : `**${member.name}**`,
      fence(
        `${member.isStatic && member.name !== 'constructor' ? 'static ' : ''}${member.text.replace(/^static /gm, '')}`,
      ),
      ...docSections(member.doc, render),
    ]),
  ).trimEnd()
}
