import { type ProxyFileWatcher, watchProxyFile } from '@holdfast/proxy'
import type { Holdfast } from '@holdfast/runtime'
import type { Pool } from 'holdfast'

/** Something that ends. */
export interface Closable {
  close(): void
}

/**
 * Takes the members of every pool's `members_file` into the pool and follows the files. Pools that come with a change of
 * the config are taken up then, and so is a pool that had to be made anew.
 */
export async function watchMemberFiles(hf: Holdfast, warn: (text: string) => void): Promise<Closable> {
  const watched = new Map<string, { file: string; pool: Pool; watcher: ProxyFileWatcher }>()
  let work: Promise<unknown> = Promise.resolve()

  const take = async (): Promise<void> => {
    const pools = hf.config.current.pools ?? {}
    for (const [id, held] of watched) {
      const said = pools[id]?.membersFile
      if (said !== undefined && hf.config.path(said) === held.file && hf.pools.get(id) === held.pool) continue
      held.watcher.close()
      watched.delete(id)
    }
    for (const [id, { membersFile }] of Object.entries(pools)) {
      if (membersFile === undefined || watched.has(id)) continue
      const file = hf.config.path(membersFile)
      const pool = hf.pools.get(id)
      const onError = (error: unknown): void =>
        warn(
          `pools.${id}.members_file was not taken, its members stay as they were: ${(error as Error).message}`,
        )
      try {
        const watcher = await watchProxyFile(file, pool as Pool<never>, { onError })
        watched.set(id, { file, pool, watcher })
      } catch (error) {
        onError(error)
      }
    }
  }
  const off = hf.events.on('config_reloaded', () => {
    work = work.then(take)
  })
  await take()
  return {
    close() {
      off()
      for (const { watcher } of watched.values()) watcher.close()
    },
  }
}
