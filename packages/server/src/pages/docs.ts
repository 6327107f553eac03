import { escapeHtml } from '@holdfast/proxy/internal'

/** The parts of an OpenAPI document that the page shows. */
interface OpenApiDocument {
  info: { title: string; version: string; description?: string }
  tags?: { name: string; description?: string }[]
  paths: Record<string, Record<string, OpenApiOperation>>
}

interface OpenApiOperation {
  operationId?: string
  summary?: string
  description?: string
  tags?: string[]
  'x-role'?: string
  parameters?: { name: string; in: string; required?: boolean; schema?: unknown }[]
  requestBody?: { content?: Record<string, { schema?: unknown }> }
  responses?: Record<string, { description: string; content?: Record<string, { schema?: unknown }> }>
}

const formatCode = (value: unknown): string => `<pre>${escapeHtml(JSON.stringify(value, null, 2))}</pre>`

/** A link to a named schema, or the schema itself. */
function formatSchema(schema: unknown): string {
  const { $ref } = Object(schema) as { $ref?: string }
  const name = $ref?.split('/').at(-1)
  return name === undefined
    ? formatCode(schema)
    : `<a href="#schema-${escapeHtml(name)}">${escapeHtml(name)}</a>`
}

function formatParameters(list: OpenApiOperation['parameters'] = []): string {
  if (list.length === 0) return ''
  const rows = list.map(
    ({ name, in: place, required, schema }) =>
      `<tr><td><code>${escapeHtml(name)}</code></td><td>${escapeHtml(place)}${required ? ', required' : ''}</td><td><code>${escapeHtml(JSON.stringify(schema))}</code></td></tr>`,
  )
  return `<table><thead><tr><th>parameter</th><th>in</th><th>schema</th></tr></thead><tbody>${rows.join('')}</tbody></table>`
}

function formatOperation(method: string, path: string, op: OpenApiOperation): string {
  const body = Object.entries(op.requestBody?.content ?? {})
    .map(([type, { schema }]) => `<p>Body, <code>${escapeHtml(type)}</code>: ${formatSchema(schema)}</p>`)
    .join('')
  const answers = Object.entries(op.responses ?? {})
    .map(([status, { description, content }]) => {
      const [first] = Object.values(content ?? {})
      return `<tr><td>${escapeHtml(status)}</td><td>${escapeHtml(description)}</td><td>${first === undefined ? '' : formatSchema(first.schema)}</td></tr>`
    })
    .join('')
  return `<details id="${escapeHtml(op.operationId ?? '')}"><summary><b class="${escapeHtml(method)}">${escapeHtml(method.toUpperCase())}</b> <code>${escapeHtml(path)}</code> ${escapeHtml(op.summary ?? '')}${op['x-role'] === undefined ? '' : ` <i>${escapeHtml(op['x-role'])}</i>`}</summary>
<p>${escapeHtml(op.description ?? '')}</p>${formatParameters(op.parameters)}${body}<table><thead><tr><th>status</th><th>meaning</th><th>body</th></tr></thead><tbody>${answers}</tbody></table></details>`
}

/** The reference page of the API. It shows the whole document without a script. */
export function formatDocsPage(document: object): string {
  const { info, tags = [], paths } = document as OpenApiDocument
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, op]) => ({ path, method, op })),
  )
  const sections = tags.map(({ name, description = '' }) => {
    const own = all.filter(({ op }) => op.tags?.includes(name))
    return `<section><h2>${escapeHtml(name)}</h2><p>${escapeHtml(description)}</p>${own.map(({ method, path, op }) => formatOperation(method, path, op)).join('\n')}</section>`
  })
  const { schemas = {} } = (document as { components?: { schemas?: object } }).components ?? {}
  const named = Object.entries(schemas)
    .map(
      ([name, schema]) =>
        `<details id="schema-${escapeHtml(name)}"><summary><code>${escapeHtml(name)}</code></summary>${formatCode(schema)}</details>`,
    )
    .join('\n')
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(info.title)} API</title><link rel="stylesheet" href="/docs.css"></head>
<body><main><h1>${escapeHtml(info.title)} API</h1><p>${escapeHtml(info.description ?? '')}</p>
<p>OpenAPI document: <a href="/openapi.json">openapi.json</a></p>
${sections.join('\n')}
<section><h2>Schemas</h2>${named}</section></main></body></html>`
}

/** The style sheet of the page. */
export const DOCS_STYLE = `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
main { max-width: 70rem; margin: 0 auto; padding: 1rem }
summary { cursor: pointer; padding: .4rem 0 }
summary b { display: inline-block; min-width: 4.5rem }
details { border-top: 1px solid #8884 }
table { border-collapse: collapse; width: 100%; display: block; overflow-x: auto }
th, td { text-align: left; padding: .2rem .6rem .2rem 0; vertical-align: top }
pre, code { font: .85rem/1.4 ui-monospace, monospace; overflow-x: auto; overflow-wrap: anywhere }
i { opacity: .7 }
`
