// The pages of the site and the links between them. docs/README.md lists the pages in the order of the sidebar; the pages
// of a folder such as docs/recipes are listed by their frontmatter (`group`, `order`, `title`).
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { root } from '../packages.mjs'

/**
 * @typedef {{ text: string, link: string }} Item
 * @typedef {{ text: string, collapsed?: boolean, items: Item[] }} Group
 * @typedef {Record<string, Group[]>} Sidebar groups by the path of the pages that show them
 */

/** Pages that the sidebar does not list: the home page, the list itself and the template of the project pages. */
export const UNLISTED = ['docs/index.md', 'docs/README.md', 'docs/project/[page].md']

const LINK = /^- \[([^\]]+)\]\(([^)#]+)\)/gm

const read = (/** @type {string} */ file) => readFileSync(join(root, file), 'utf8')
const isFile = (/** @type {string} */ path) => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false

/** @param {string} text @returns {Record<string, string>} the plain `key: value` lines of the frontmatter */
function frontmatterOf(text) {
  const [, block = ''] = text.match(/^---\n([\s\S]*?)\n---\n/) ?? []
  return Object.fromEntries(
    [...block.matchAll(/^(\w+): *(.*)$/gm)].map(([, key = '', value = '']) => [
      key,
      value.replace(/^(['"])(.*)\1$/, '$2'),
    ]),
  )
}

/** @param {string} text @param {string} file */
const titleOf = (text, file) => {
  const title = frontmatterOf(text)['title'] ?? text.match(/^# (.+)$/m)?.[1]
  if (title === undefined) throw new Error(`${file} has no title: write \`# Title\` or a frontmatter title`)
  return title.replaceAll('`', '')
}

/** @param {string} [folder] relative to the repository @returns {string[]} the Markdown files below it, sorted */
export function pagesBelow(folder = 'docs') {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => posix.join(folder, name.replaceAll('\\', '/')))
    .filter((file) => file.endsWith('.md') && !file.includes('/.vitepress/'))
    .toSorted()
}

/** @param {string} file @returns {string} the path of a page on the site; docs/README.md is the page `/pages` */
export const siteLinkOf = (file) =>
  file
    .replace(/^docs\/README\.md$/, 'docs/pages.md')
    .replace(/^docs/, '')
    .replace(/\.md$/, '')
    .replace(/(^|\/)index$/, '$1')

/** @param {string} folder a folder of docs/ @returns {Group[]} */
function groupsOfFolder(folder) {
  /** @type {Map<string, (Item & { order: number })[]>} */
  const groups = new Map()
  for (const file of pagesBelow(folder)) {
    const text = read(file)
    const title = titleOf(text, file)
    const { group = '', order } = frontmatterOf(text)
    const isIndex = file === `${folder}/index.md`
    const item = { text: title, link: siteLinkOf(file), order: isIndex ? -1 : Number(order ?? 1000) }
    groups.set(group, [...(groups.get(group) ?? []), item])
  }
  const byOrder = (/** @type {{ order: number }} */ a, /** @type {{ order: number }} */ b) =>
    a.order - b.order
  return [...groups]
    .map(([text, items]) => ({ text, items: items.toSorted(byOrder) }))
    .toSorted((a, b) => byOrder(/** @type {any} */ (a.items[0]), /** @type {any} */ (b.items[0])))
    .map(({ text, items }) => ({ text, items: items.map(({ text, link }) => ({ text, link })) }))
}

/** @returns {{ heading: string, links: { text: string, file: string }[] }[]} the sections of docs/README.md */
function listedSections() {
  return read('docs/README.md')
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      heading: section.split('\n', 1)[0] ?? '',
      links: [...section.matchAll(LINK)].map(([, text = '', link = '']) => ({
        text,
        file: posix.join('docs', link),
      })),
    }))
    .filter(({ links }) => links.length > 0)
}

/** @returns {Sidebar} */
export function sidebar() {
  const sections = listedSections()
  const folders = sections
    .flatMap(({ links }) => links.map(({ file }) => file))
    .filter((file) => /^docs\/[^/]+\/index\.md$/.test(file))
    .map((file) => dirname(file))
  /** @type {Item[]} */
  const home = [{ text: 'All pages', link: '/pages' }]
  return Object.fromEntries([
    ...folders.map((folder) => [
      `${siteLinkOf(folder)}/`,
      [{ text: '', items: home }, ...groupsOfFolder(folder)],
    ]),
    [
      '/',
      sections.map(({ heading, links }) => ({
        text: heading,
        items: links.map(({ text, file }) => ({ text, link: siteLinkOf(linkTarget(file)) })),
      })),
    ],
  ])
}

/** @param {string} file @returns {string} the page of the site that shows a file */
const linkTarget = (file) => (file.startsWith('docs/') ? file : `docs/project/${projectSlug(file)}.md`)

/** Markdown files outside docs/ that the site shows too. @returns {string[]} */
export function projectFiles() {
  const inFolders = (/** @type {string} */ folder) =>
    readdirSync(join(root, folder))
      .map((name) => `${folder}/${name}/README.md`)
      .filter((file) => existsSync(join(root, file)))
  const inFolder = (/** @type {string} */ folder) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => posix.join(folder, name))
  return [...inFolder('.'), ...inFolder('bench'), ...inFolders('packages'), ...inFolders('examples')]
    .filter((file) => file !== 'README.md')
    .toSorted()
}

/** @param {string} file */
export const projectSlug = (file) =>
  file
    .replace(/(\/README)?\.md$/, '')
    .replaceAll('/', '-')
    .toLowerCase()

/** @param {string} page relative to docs/, as VitePress names it @returns {string} the file that it is made from */
export const sourceOf = (page) =>
  projectFiles().find((file) => page === `project/${projectSlug(file)}.md`) ?? posix.join('docs', page)

/**
 * Finds what a relative link leads to.
 *
 * @param {string} source the file that contains the link, relative to the repository
 * @param {string} href
 * @returns {{ file: string, page: string | undefined, anchor: string } | undefined} `page` is the page of the site, if
 *   there is one; undefined for a link that is not relative
 */
export function resolveLink(source, href) {
  if (/^([a-z]+:|\/\/|#)/i.test(href)) return undefined
  const [path = '', hash = ''] = href.split('#')
  const given = path === '/pages' ? '/README.md' : decodeURI(path)
  const file = given.startsWith('/')
    ? posix.join('docs', given)
    : posix.join(posix.dirname(source), given).replace(/\/$/, '')
  const candidates = [file, `${file}.md`, posix.join(file, 'index.md'), posix.join(file, 'README.md')]
  const found = candidates.find((each) => isFile(join(root, each))) ?? file
  const anchor = hash === '' ? '' : `#${hash}`
  if (found === 'README.md') return { file: found, page: '/', anchor }
  if (found.startsWith('docs/') && found.endsWith('.md'))
    return { file: found, page: siteLinkOf(found), anchor }
  const isShown = projectFiles().includes(found)
  return { file: found, page: isShown ? `/project/${projectSlug(found)}` : undefined, anchor }
}

/** The anchor of a heading, as GitHub makes it, so that a link works in both places. @param {string} heading */
export const slugify = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}\s_-]/gu, '')
    .replaceAll(/\s/g, '-')
