// The environment of a project that installs from the registry on this machine.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** @param {string} folder for the cache of npm @param {string} registry */
export function installEnvironment(folder, registry) {
  const userconfig = join(folder, 'npmrc')
  writeFileSync(userconfig, 'audit=false\nfund=false\nupdate-notifier=false\n')
  return {
    ...Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !/^(npm_|HOLDFAST_|NODE_OPTIONS$)/i.test(name)),
    ),
    NO_COLOR: '1',
    npm_config_registry: registry,
    npm_config_userconfig: userconfig,
    npm_config_cache: join(folder, 'cache'),
  }
}
