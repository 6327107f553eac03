// A browser for tests and pictures: the one that CHROMIUM_PATH names, one on the PATH, or the one that comes with npm.
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { chromium } from 'playwright-core'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** Browsers there may be, the best first. */
async function* candidates() {
  const { CHROMIUM_PATH, PATH = '' } = process.env
  if (CHROMIUM_PATH) {
    yield CHROMIUM_PATH
    return
  }
  for (const folder of PATH.split(delimiter))
    for (const name of NAMES) if (existsSync(join(folder, name))) yield join(folder, name)
  const { default: shipped } = await import('@sparticuz/chromium')
  yield await shipped.executablePath()
}

/**
 * Starts the first browser that starts. Where none does this is said loudly and the answer is undefined; with
 * REQUIRE_BROWSER in the environment it is an error.
 */
export async function launch() {
  /** @type {unknown} */
  let problem
  try {
    for await (const executablePath of candidates())
      try {
        return await chromium.launch({
          executablePath,
          args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--force-color-profile=srgb'],
        })
      } catch (error) {
        problem = error
      }
  } catch (error) {
    problem = error
  }
  if (process.env['REQUIRE_BROWSER']) throw problem
  console.error(
    `\n*** NO BROWSER: the dashboard is not tested. Set CHROMIUM_PATH, or install chromium. ***\n${problem}\n`,
  )
  return undefined
}
