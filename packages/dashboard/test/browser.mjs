// A browser for tests and pictures: the one that CHROMIUM_PATH names, one on the PATH, or the one that comes with npm.
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { chromium } from 'playwright-core'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

async function find() {
  const { CHROMIUM_PATH, PATH = '' } = process.env
  if (CHROMIUM_PATH) return CHROMIUM_PATH
  const found = PATH.split(delimiter)
    .flatMap((folder) => NAMES.map((file) => join(folder, file)))
    .find((file) => existsSync(file))
  if (found !== undefined) return found
  const { default: shipped } = await import('@sparticuz/chromium')
  return shipped.executablePath()
}

/**
 * Starts a browser. Where there is none that starts this is said loudly and the answer is undefined; with
 * REQUIRE_BROWSER in the environment it is an error.
 */
export async function launch() {
  try {
    return await chromium.launch({
      executablePath: await find(),
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--force-color-profile=srgb'],
    })
  } catch (error) {
    if (process.env['REQUIRE_BROWSER']) throw error
    console.error(
      `\n*** NO BROWSER: the dashboard is not tested. Set CHROMIUM_PATH, or install chromium. ***\n${error}\n`,
    )
    return undefined
  }
}
