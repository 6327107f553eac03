import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** A browser: the one that CHROMIUM_PATH names, one on the PATH, or the one that comes with npm. */
async function find(): Promise<string | undefined> {
  const { CHROMIUM_PATH, PATH = '' } = process.env
  if (CHROMIUM_PATH) return CHROMIUM_PATH
  const found = PATH.split(delimiter)
    .flatMap((folder) => NAMES.map((file) => join(folder, file)))
    .find((file) => existsSync(file))
  if (found !== undefined) return found
  const { default: shipped } = await import('@sparticuz/chromium')
  return shipped.executablePath()
}

/** Starts a browser; undefined where there is none that starts, which is said loudly. */
export async function launch(): Promise<Browser | undefined> {
  try {
    const executablePath = await find()
    return await chromium.launch({
      ...(executablePath === undefined ? {} : { executablePath }),
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--force-color-profile=srgb'],
    })
  } catch (error) {
    if (process.env['REQUIRE_BROWSER']) throw error
    console.error(
      `\n*** NO BROWSER: the dashboard is not tested. Set CHROMIUM_PATH, or install chromium. ***\n${(error as Error).message}\n`,
    )
    return undefined
  }
}
