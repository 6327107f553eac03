import { type Layer, openStoredLayer, type ResolvedConfig, resolveConfig } from '@holdfast/runtime/config'
import { displayPath, type LoadedFile, loadFile } from '../backends/file.js'
import type { CommandContext } from '../context/context.js'

/** The live changes in the store of a config file; empty where the store does not exist. */
export async function readStoredLayer({ checked, dir }: LoadedFile): Promise<Layer> {
  const { resolveStore } = await import('../backends/local.js')
  const { url, isPresent } = resolveStore(checked.config, dir)
  if (!isPresent) return {}
  const { openStore } = await import('@holdfast/runtime')
  const store = await openStore(url)
  try {
    return openStoredLayer((await store.layers.latest())?.layer, checked.config.deadLetters?.encryptionKey)
  } finally {
    await store.close()
  }
}

/** The configuration of the file with the live changes. */
export async function resolveConfigHere(context: CommandContext): Promise<ResolvedConfig> {
  const loaded = await loadFile(context)
  return resolveConfig(
    { ...loaded.checked, file: displayPath(context, loaded.file) },
    await readStoredLayer(loaded),
  )
}
