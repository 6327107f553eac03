import { type ProxyFileWatcher, watchProxyFile } from '@holdfast/proxy'
import type { Holdfast } from '@holdfast/runtime'
import type { Pool } from 'holdfast'

/** Something that can be closed. */
export interface Closable {
  close(): void
}

/**
 * Adds the members of the `members_file` of every pool and watches the files. When the config changes, new and recreated
 * pools are included.
 */
export async function watchMemberFiles(hf: Holdfast, warn: (text: string) => void): Promise<Closable> {
  const watched = new Map<string, { file: string; pool: Pool; watcher: ProxyFileWatcher }>()
  let lastUpdate: Promise<unknown> = Promise.resolve()

  const updateWatchers = async (): Promise<void> => {
    const pools = hf.config.current.pools ?? {}
    for (const [id, { file, pool, watcher }] of watched) {
      const path = pools[id]?.membersFile
      if (path !== undefined && hf.config.path(path) === file && hf.pools.get(id) === pool) continue
      watcher.close()
      watched.delete(id)
    }
    for (const [id, { membersFile }] of Object.entries(pools)) {
      if (membersFile === undefined || watched.has(id)) continue
      const file = hf.config.path(membersFile)
      const pool = hf.pools.get(id)
      const onError = (error: unknown): void =>
        warn(
          `pools.${id}.members_file was not loaded, the pool keeps its members: ${(error as Error).message}`,
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
    lastUpdate = lastUpdate.then(updateWatchers)
  })
  await updateWatchers()
  return {
    close() {
      off()
      for (const { watcher } of watched.values()) watcher.close()
    },
  }
}
