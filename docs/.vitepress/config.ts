import { cpSync } from 'node:fs'
import { join, posix } from 'node:path'
import { defineConfig, type MarkdownOptions } from 'vitepress'
import { resolveLink, sidebar, slugify, sourceOf } from '../../scripts/docs/site.mjs'
import { root } from '../../scripts/packages.mjs'

/** Files that pages offer for download; they stay beside the pages in the repository. */
const DOWNLOADS = ['alerts', 'grafana']

const groups = sidebar()
const isListed = (link: string) => groups['/']?.some(({ items }) => items.some((item) => item.link === link))

/** Links and images are written for the repository. This rule makes those that leave docs/ work on the site. */
const repositoryLinks: NonNullable<MarkdownOptions['config']> = (md) => {
  md.core.ruler.push('repository-links', ({ tokens, env }) => {
    // VitePress also renders the title of the frontmatter, without a page.
    if (env?.relativePath === undefined) return
    const source = sourceOf(env.relativePath)
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const name = token.type === 'link_open' ? 'href' : token.type === 'image' ? 'src' : undefined
      const target = name && resolveLink(source, token.attrGet(name) ?? '#')
      if (name === undefined || target === undefined) continue
      if (name === 'src')
        token.attrSet('src', posix.relative(posix.dirname(`docs/${env.relativePath}`), target.file))
      else if (target.page !== undefined) token.attrSet('href', target.page + target.anchor)
      else if (DOWNLOADS.some((folder) => target.file.startsWith(`docs/${folder}/`)))
        token.attrSet('href', target.file.replace(/^docs/, ''))
      else if (!target.file.startsWith('docs/')) {
        // A file of the repository that is not part of the site.
        token.attrs = [
          ['class', 'repository-file'],
          ['title', `in the repository: ${target.file}`],
        ]
      }
    }
  })
}

export default defineConfig({
  title: 'Holdfast',
  description: 'Retries, circuit breakers, deadlines and dead letters for TypeScript',
  lang: 'en',
  cleanUrls: true,
  cacheDir: '../.cache/vitepress',
  rewrites: { 'README.md': 'pages.md' },
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: '/logo.svg' }]],
  // The search index is one file.
  vite: { build: { chunkSizeWarningLimit: 4000 } },
  markdown: { config: repositoryLinks, anchor: { slugify } },
  buildEnd({ outDir }) {
    for (const folder of DOWNLOADS)
      cpSync(join(root, 'docs', folder), join(outDir, folder), { recursive: true })
  },
  themeConfig: {
    logo: '/logo.svg',
    outline: [2, 3],
    search: { provider: 'local' },
    sidebar: groups,
    nav: [
      { text: 'Get started', link: '/start/' },
      { text: 'Concepts', link: '/retry' },
      { text: 'Recipes', link: '/recipes/' },
      { text: 'Reference', link: '/reference/' },
      { text: 'Operations', link: '/operations/' },
      { text: 'Examples', link: '/examples/' },
    ].filter(({ link }) => isListed(link)),
    docFooter: { prev: 'Previous', next: 'Next' },
    footer: { message: 'MIT License' },
  },
})
