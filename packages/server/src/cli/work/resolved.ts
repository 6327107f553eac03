import { type Layer, openStoredLayer, type ResolvedConfig, resolveConfig } from '@holdfast/runtime/config'
import type { Context } from '../context.js'
import { calledHere, type LoadedFile, loadFile } from '../source/file.js'

/** The changes made through the API that lie in the store of a file, where there is one. */
export async function storedLayer({ checked, dir }: LoadedFile): Promise<Layer> {
  const { storeOf } = await import('../source/local.js')
  const { url, exists } = storeOf(checked.config, dir)
  if (!exists) return {}
  const { openStore } = await import('@holdfast/runtime')
  const store = await openStore(url)
  try {
    return openStoredLayer((await store.layers.latest())?.layer, checked.config.deadLetters?.encryptionKey)
  } finally {
    await store.close()
  }
}

/** What is in force by the file, with the changes made through the API. */
export async function resolvedHere(context: Context): Promise<ResolvedConfig> {
  const loaded = await loadFile(context)
  return resolveConfig(
    { ...loaded.checked, file: calledHere(context, loaded.file) },
    await storedLayer(loaded),
  )
}
