import { pathToFileURL } from 'node:url'
import { errorMessageOf } from '@holdfast/records'
import { isHoldfastError } from 'holdfast'
import type { ActiveConfig } from '../active-config/active-config.js'
import { throwPolicyConflicts } from '../active-config/conflicts.js'
import { type Difference, hiddenByReload, hiddenMembers, toWireDifference } from '../active-config/hidden.js'
import type { CheckResult } from '../check/check-input.js'
import type { Environment } from '../environment/interpolate.js'
import { formatHiddenNote } from '../explain/explain.js'
import { checkText } from '../file/check-text.js'
import { MemberFiles } from '../file/member-files.js'
import { type ConfigSource, readConfigText, requireValid } from '../file/source.js'
import { createFileWatcher, type FileWatcher } from '../file/watch.js'
import { createConfigInvalid, describeProblem, lineOf, type Problem } from '../problems/describe.js'
import type { ConfigProblem } from '../problems/problem.js'
import type { Actor, RuntimeContext } from '../runtime-context.js'
import type { Config } from '../schema/schema.js'
import { restartNeededProblems } from './restart.js'

/** The result of a reload. */
export interface Reloaded {
  /** The number of changed policy fields. */
  readonly changes: number
  /** Warnings about the active configuration, including settings that need a restart. */
  readonly warnings: readonly Problem[]
  /** Notes about values of the file that changes made through the API hide. */
  readonly hidden: readonly string[]
}

interface FileReloadParts {
  runtime: RuntimeContext
  source: ConfigSource
  env: Environment
  /** The url of the open store, and the url that another configuration would have. */
  storeUrl: string
  storeOf(config: Config): string
  activeConfig: ActiveConfig
  /** Resolves a path relative to the folder of the config file. */
  resolvePath(path: string): string
  /** Runs one change at a time. */
  serialize<T>(change: () => Promise<T>): Promise<T>
}

/** Reads the config file and its member files again and applies them, or reports why not. */
export class FileReload {
  private readonly parts: FileReloadParts
  private readonly memberFiles: MemberFiles
  private watcher: FileWatcher | undefined = undefined
  private isWatching = false
  /** The last text that was applied or rejected. */
  private lastText: string | undefined

  constructor(parts: FileReloadParts) {
    const { runtime, resolvePath, activeConfig, source } = parts
    this.parts = parts
    this.lastText = source.text
    this.memberFiles = new MemberFiles({
      runtime,
      resolvePath,
      onChanged: (pool, members) => {
        activeConfig.replace(
          { fileMembers: new Map(activeConfig.fileMembers).set(pool, members) },
          throwPolicyConflicts,
        )
      },
    })
  }

  /** Reads the member files of a configuration. @throws CONFIG_INVALID */
  readMembers(config: Config) {
    return this.memberFiles.read(config)
  }

  /**
   * Reads the config file again and applies it.
   *
   * @throws CONFIG_INVALID that lists all problems; the previous configuration stays active
   */
  async reload(actor: Actor): Promise<Reloaded> {
    const { env, source } = this.parts
    const { file } = source
    if (file === undefined) return { changes: 0, warnings: this.warnings, hidden: [] }
    return this.applyChecked(async () => {
      this.lastText = await readConfigText(file)
      this.watcher?.setKnownText(this.lastText)
      return checkText(this.lastText, { file, env })
    }, actor)
  }

  /** Applies the config file and the member files whenever they change, until `close`. */
  watchFile(): void {
    const { runtime, source, env, activeConfig, serialize } = this.parts
    const { file } = source
    this.isWatching = true
    this.memberFiles.watchFiles(activeConfig.loaded.config)
    if (file === undefined) return
    this.watcher = createFileWatcher(file, {
      clock: runtime.clock,
      text: source.text,
      onChange: (text) =>
        // A text that `reload` has read in the meantime is not applied again.
        serialize(async () => {
          const isKnown = text === this.lastText
          this.lastText = text
          if (!isKnown) await this.applyChecked(() => checkText(text, { file, env }), { by: 'file' })
        }).then(
          () => {},
          () => {}, // The rejection is already reported.
        ),
      onError: (error) => runtime.warn(`the configuration cannot be read: ${errorMessageOf(error)}`),
    })
  }

  /** Stops watching the files. */
  close(): void {
    this.isWatching = false
    this.watcher?.close()
    this.watcher = undefined
    this.memberFiles.close()
  }

  private get warnings(): Problem[] {
    return this.parts.activeConfig.loaded.warnings.map(describeProblem)
  }

  private async applyChecked(read: () => Promise<CheckResult>, actor: Actor): Promise<Reloaded> {
    const { activeConfig, source } = this.parts
    const { loaded: previous } = activeConfig
    let changes: Difference[]
    try {
      const loaded = requireValid(await read(), source.file)
      const fileMembers = await this.memberFiles.read(loaded.config)
      await this.loadHandlers(loaded.config)
      changes = activeConfig.replace({ loaded, fileMembers }, throwPolicyConflicts)
    } catch (error) {
      await this.recordRejection(actor, error)
      throw error
    }
    activeConfig.usesBuiltInPolicies = false
    const { config } = activeConfig.loaded
    if (this.isWatching) this.memberFiles.watchFiles(config)
    const hidden = [
      ...hiddenByReload(previous, activeConfig.resolved).map(formatHiddenNote),
      ...hiddenMembers(previous.config, config, activeConfig.layer),
    ]
    const restartNeeded = restartNeededProblems({ ...this.parts, config: source.checked.config }, config)
    activeConfig.addWarnings(restartNeeded)
    await this.report(actor, { changes, hidden, waiting: restartNeeded })
    return { changes: changes.length, warnings: this.warnings, hidden }
  }

  private async report(
    actor: Actor,
    found: {
      changes: readonly Difference[]
      hidden: readonly string[]
      waiting: readonly ConfigProblem[]
    },
  ): Promise<void> {
    const { runtime, source } = this.parts
    const { file } = source
    const { changes, hidden, waiting: restartNeeded } = found
    for (const note of [
      ...hidden,
      ...restartNeeded.map((warning) => lineOf(describeProblem(warning), undefined)),
    ]) {
      runtime.warn(note)
      runtime.logger.warn({ config: file }, note)
    }
    runtime.emit({
      eventType: 'config_reloaded',
      component: 'config',
      context: {
        file,
        by: actor.by ?? 'unknown',
        changes: changes.length,
        hidden,
        ...(restartNeeded.length > 0 && { waiting: restartNeeded.map(({ path }) => path) }),
      },
    })
    await runtime.audit(actor, 'config.reload', file ?? 'object', {
      after: { changes: changes.map(toWireDifference) },
    })
  }

  /** Loads the handlers module of a configuration. @throws CONFIG_INVALID */
  private async loadHandlers({ deadLetters }: Config): Promise<void> {
    const file = deadLetters?.handlers
    if (file === undefined) return
    try {
      await import(pathToFileURL(this.parts.resolvePath(file)).href)
    } catch (error) {
      throw createConfigInvalid('the configuration', [
        {
          path: 'dead_letters.handlers',
          code: 'not_loadable',
          expected: 'a module',
          got: errorMessageOf(error),
        },
      ])
    }
  }

  private async recordRejection(actor: Actor, error: unknown): Promise<void> {
    const { runtime, source } = this.parts
    const { file } = source
    const reason = errorMessageOf(error)
    const details = isHoldfastError(error) ? error.details : undefined
    runtime.warn(`the configuration was rejected, the previous one stays active: ${reason}`)
    runtime.emit({
      eventType: 'config_rejected',
      component: 'config',
      context: { file, by: actor.by ?? 'unknown', reason, ...(details && { details }) },
    })
    await runtime.audit(actor, 'config.reject', file ?? 'object', { after: { reason } })
  }
}
