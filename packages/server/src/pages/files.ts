import { existsSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { extname, join, normalize, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Context } from 'hono'
import { PAGE_POLICY } from './headers.js'

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
}

/** Where the build puts the dashboard: beside this code or the folder of it, or, for the sources, where it was built. */
const PLACES = ['./dashboard/', '../dashboard/', '../../dist/dashboard/']

const shipped = (): string => {
  const places = PLACES.map((place) => fileURLToPath(new URL(place, import.meta.url)).replace(/[/\\]$/, ''))
  return places.find((place) => existsSync(join(place, 'index.html'))) ?? (places[0] as string)
}

/** Files whose names change with what is in them. */
const FOREVER = 'public, max-age=31536000, immutable'

async function fileAt(path: string): Promise<Buffer | undefined> {
  try {
    return (await stat(path)).isFile() ? await readFile(path) : undefined
  } catch {
    return undefined
  }
}

/** Serves the dashboard. A path that is no file is a view of its page, which finds its way by itself. */
export function dashboard(folder: string | false | undefined) {
  const root = folder ?? shipped()
  return async (c: Context): Promise<Response | undefined> => {
    if (root === false || (c.req.method !== 'GET' && c.req.method !== 'HEAD')) return undefined
    let path: string
    try {
      path = normalize(decodeURIComponent(new URL(c.req.url).pathname))
    } catch {
      return undefined
    }
    if (path.startsWith(`${sep}api${sep}`) || path.includes('\0')) return undefined
    const named = join(root, path)
    const asset = named.startsWith(root + sep) && extname(path) !== ''
    const found = asset ? await fileAt(named) : undefined
    const file = found ?? (extname(path) === '' ? await fileAt(join(root, 'index.html')) : undefined)
    if (file === undefined) return undefined
    const type = found === undefined ? TYPES['.html'] : TYPES[extname(path)]
    return c.body(new Uint8Array(file), 200, {
      'content-type': type ?? 'application/octet-stream',
      'content-security-policy': PAGE_POLICY,
      'cache-control': found !== undefined && path.startsWith(`${sep}assets${sep}`) ? FOREVER : 'no-cache',
    })
  }
}
