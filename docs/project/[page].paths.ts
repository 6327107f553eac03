// Markdown files outside docs/, such as ARCHITECTURE.md, as pages of the site.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectFiles, projectSlug } from '../../scripts/docs/site.mjs'
import { root } from '../../scripts/packages.mjs'

export default {
  paths: () =>
    projectFiles().map((file) => ({
      params: { page: projectSlug(file) },
      content: readFileSync(join(root, file), 'utf8'),
    })),
}
