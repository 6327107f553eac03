// A browser for tests and screenshots: the one that CHROMIUM_PATH names, else the one that npm installs
// (@sparticuz/chromium), else one of the system.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { chromium } from 'playwright-core'

/** @typedef {import('playwright-core').LaunchOptions} LaunchOptions */

const require = createRequire(import.meta.url)

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const CACHE = fileURLToPath(new URL('../../../.cache', import.meta.url))

/**
 * Unpacks the browser of npm into the cache, once for each version, and returns where it is. The package would unpack it
 * to a fixed place in the temporary folder, where processes that start at once find each other's incomplete files.
 */
async function unpackBrowser() {
  const entry = require.resolve('@sparticuz/chromium')
  const { version } = JSON.parse(await readFile(join(dirname(entry), '../../package.json'), 'utf8'))
  const target = join(CACHE, `chromium-${version}`)
  if (existsSync(target)) return target
  await mkdir(CACHE, { recursive: true })
  const folder = await mkdtemp(`${target}-`)
  try {
    const code = `import(${JSON.stringify(pathToFileURL(entry).href)}).then((module) => module.default.executablePath())`
    // With VERCEL in the environment it unpacks its libraries too, which a small system does not have.
    await promisify(execFile)(process.execPath, ['-e', code], {
      env: { ...process.env, TMPDIR: folder, VERCEL: '1' },
    })
    const fonts = `<fontconfig><dir>${join(target, 'fonts')}</dir><cachedir>${join(target, 'fonts-cache')}</cachedir></fontconfig>`
    await writeFile(join(folder, 'fonts.conf'), `<?xml version="1.0"?>\n${fonts}\n`)
    await rename(folder, target)
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    if (!existsSync(target)) throw error // Else another process was faster.
  }
  return target
}

/** How the browser of npm is started. @returns {Promise<LaunchOptions>} */
async function packagedBrowser() {
  const folder = await unpackBrowser()
  const libraries = [join(folder, 'al2023/lib'), process.env['LD_LIBRARY_PATH']].filter(Boolean)
  return {
    executablePath: join(folder, 'chromium'),
    env: {
      .../** @type {Record<string, string>} */ (process.env),
      LD_LIBRARY_PATH: libraries.join(delimiter),
      ...(existsSync('/etc/fonts/fonts.conf') ? {} : { FONTCONFIG_FILE: join(folder, 'fonts.conf') }),
    },
  }
}

/** Browsers there may be, the preferred first. @returns {(() => Promise<LaunchOptions>)[]} */
function candidates() {
  const { CHROMIUM_PATH, PATH = '' } = process.env
  const at = (/** @type {string} */ executablePath) => async () => ({ executablePath })
  if (CHROMIUM_PATH) return [at(CHROMIUM_PATH)]
  const installed = PATH.split(delimiter)
    .flatMap((folder) => NAMES.map((name) => join(folder, name)))
    .filter((file) => existsSync(file))
  return [packagedBrowser, ...installed.map(at), async () => ({ channel: 'chrome' })]
}

/** Starts the first browser that starts, and rejects with the reasons where none does. */
export async function launch() {
  /** @type {string[]} */
  const reasons = []
  for (const find of candidates())
    try {
      return await chromium.launch({
        ...(await find()),
        // Ends what hangs: on a busy machine a browser needs many seconds to start.
        timeout: 150_000,
        args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--force-color-profile=srgb'],
      })
    } catch (error) {
      reasons.push(/** @type {Error} */ (error).message)
    }
  throw new Error(
    `no browser could be started; set CHROMIUM_PATH to a Chromium or Chrome\n${reasons.join('\n')}`,
  )
}
