import { existsSync } from 'node:fs'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Holdfast } from '@holdfast/runtime'
import { systemClock, systemRandom } from 'holdfast/internal'
import { type RunningServices, type ServicesOptions, startAll } from '../cli/services/services.js'
import { formatDemoConfig } from './config.js'
import { badProxy, catalog, deadPort, type LocalService, search, silent, weather } from './services.js'
import { startTraffic } from './traffic.js'

export interface DemoOptions extends Omit<ServicesOptions, 'canUseNextPort'> {
  /** The folder in which `data` is created. */
  readonly dir: string
}

/** The running demo. */
export interface Demo {
  readonly running: RunningServices
  readonly file: string
  readonly store: string
  /** A description of each demo service. */
  readonly descriptions: Readonly<Record<string, string>>
  close(): Promise<void>
}

const DESCRIPTIONS = {
  weather: 'an API that fails for 10 of every 30 seconds, and recovers',
  legacy: 'an API that never responds: its breaker is open most of the time',
  search: 'an API with a limit of 5 requests per second that sends Retry-After',
  proxies: 'five proxies, some unreliable, behind the forward proxy',
  mail: 'a pipeline whose failures become dead letters and are replayed',
}

/** The config file in the data folder. */
const CONFIG_FILE = 'demo.yaml'

/** Creates the data folder, readable only by its owner, because records contain payloads. The mode of an existing folder of another program is not changed. */
async function makeDataFolder(data: string): Promise<void> {
  const created = await mkdir(data, { recursive: true, mode: 0o700 })
  if (created !== undefined || existsSync(join(data, CONFIG_FILE))) await chmod(data, 0o700)
}

/** Starts the demo services, a server and traffic. */
export async function startDemo({ dir, ...options }: DemoOptions): Promise<Demo> {
  const parts = { clock: systemClock, random: systemRandom }
  const data = join(dir, 'data')
  await makeDataFolder(data)
  const services: LocalService[] = []
  const start = async (created: Promise<LocalService>): Promise<LocalService> => {
    const local = await created
    services.push(local)
    return local
  }
  const closeServices = (): Promise<unknown> => Promise.all(services.map((local) => local.close()))
  try {
    const [sky, legacy, index, shelf, good, slow, flaky, banned, gone] = await Promise.all([
      start(weather(parts)),
      start(silent()),
      start(search(parts)),
      start(catalog()),
      start(badProxy(parts, { drops: 0.05, delay: 15, restarts: true })),
      start(badProxy(parts, { drops: 0.08, delay: 120 })),
      start(badProxy(parts, { drops: 0.4, delay: 30 })),
      start(badProxy(parts, { drops: 0, delay: 10, refuses: 403 })),
      deadPort(),
    ])
    // Among members with equal scores the first one is selected. The unusable ones are first, so that the demo shows how they are avoided.
    const proxies = [
      { id: 'gone', region: 'us', url: `http://127.0.0.1:${gone}` },
      { id: 'banned', region: 'eu', url: banned.url },
      { id: 'flaky', region: 'asia', url: flaky.url },
      { id: 'slow', region: 'us', url: slow.url },
      { id: 'good', region: 'eu', url: good.url },
    ]
    const file = join(data, CONFIG_FILE)
    await writeFile(file, formatDemoConfig({ proxies }))
    const hf = await Holdfast.open(file)
    const running = await startAll(hf, { ...options, canUseNextPort: true })
    const targets = {
      weather: sky.url,
      legacy: legacy.url,
      search: index.url,
      catalog: shelf.url,
      proxy: running.proxy?.url ?? '',
    }
    const stop = startTraffic(hf, targets, parts)
    return {
      running,
      file,
      store: join(data, 'holdfast.db'),
      descriptions: DESCRIPTIONS,
      async close() {
        await stop()
        await running.close()
        await closeServices()
      },
    }
  } catch (error) {
    await closeServices()
    throw error
  }
}
