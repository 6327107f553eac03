import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { extname, join, normalize, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Context } from 'hono'
import { PAGE_POLICY } from '../http/security-headers.js'

const CONTENT_TYPES: Record<string, string> = {
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

/** Where the build puts the dashboard, relative to the bundled code, to its folder, or to the sources. */
const DASHBOARD_LOCATIONS = ['./dashboard/', '../dashboard/', '../../dist/dashboard/']

const shippedDashboard = (): string => {
  const folders = DASHBOARD_LOCATIONS.map((location) =>
    fileURLToPath(new URL(location, import.meta.url)).replace(/[/\\]$/, ''),
  )
  return folders.find((folder) => existsSync(join(folder, 'index.html'))) ?? (folders[0] as string)
}

/** The cache header of files whose names contain a hash of their content. */
const IMMUTABLE_CACHE = 'public, max-age=31536000, immutable'

const gzipAsync = promisify(gzip)

/** Files that are already compressed. */
const COMPRESSED_EXTENSIONS = new Set(['.png', '.woff2'])

/** Compressed files by the hash of their content. There are few files, and the same ones are requested repeatedly. */
const gzipCache = new Map<string, Promise<Buffer>>()

function gzipCached(file: Buffer): Promise<Buffer> {
  const key = createHash('sha1').update(file).digest('base64')
  if (gzipCache.size > 100) gzipCache.clear()
  const known = gzipCache.get(key) ?? gzipAsync(file)
  gzipCache.set(key, known)
  return known
}

async function readFileIfExists(path: string): Promise<Buffer | undefined> {
  try {
    return (await stat(path)).isFile() ? await readFile(path) : undefined
  } catch {
    return undefined
  }
}

/** Creates the handler that serves the dashboard. A path without a file extension is a page of the dashboard, which its router resolves. */
export function createDashboardHandler(folder: string | false | undefined) {
  const root = folder === false ? false : resolve(folder ?? shippedDashboard())
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
    const isAsset = named.startsWith(root + sep) && extname(path) !== ''
    const found = isAsset ? await readFileIfExists(named) : undefined
    const file =
      found ?? (extname(path) === '' ? await readFileIfExists(join(root, 'index.html')) : undefined)
    if (file === undefined) return undefined
    const type = found === undefined ? CONTENT_TYPES['.html'] : CONTENT_TYPES[extname(path)]
    const isCompressed =
      !COMPRESSED_EXTENSIONS.has(extname(path)) && /\bgzip\b/.test(c.req.header('accept-encoding') ?? '')
    return c.body(new Uint8Array(isCompressed ? await gzipCached(file) : file), 200, {
      'content-type': type ?? 'application/octet-stream',
      vary: 'accept-encoding',
      ...(isCompressed ? { 'content-encoding': 'gzip' } : {}),
      'content-security-policy': PAGE_POLICY,
      'cache-control':
        found !== undefined && path.startsWith(`${sep}assets${sep}`) ? IMMUTABLE_CACHE : 'no-cache',
    })
  }
}
