import { pathToFileURL } from 'node:url'
import { isHoldfastError } from 'holdfast'
import type { Actor, Kit } from '../../kit.js'
import { MemberFiles } from '../../pools/member-files.js'
import { messageOf } from '../../records/summary.js'
import type { Checked } from '../check.js'
import { hiddenNote } from '../explain.js'
import type { InForce } from '../in-force.js'
import { refuseContradictions } from '../layer/contradictions.js'
import { type Difference, hiddenByReload, hiddenMembers, toWireDifference } from '../layer/hidden.js'
import { configInvalid, lineOf, type Problem } from '../problem.js'
import { waitingForRestart } from '../restart.js'
import type { Config } from '../schema/schema.js'
import { type Source, sound, textOf } from '../source.js'
import type { Environment } from '../text/interpolate.js'
import { checkText } from './check-text.js'
import { type Watch, watchConfig } from './watch.js'

/** What became of a file that was read again. */
export interface Reloaded {
  /** How many fields of policies are others than before. */
  readonly changes: number
  /** What is worth knowing about what is in force, what waits for the process to begin again included. */
  readonly warnings: readonly Problem[]
  /** Values of the file that changes through the API hide, a sentence each. */
  readonly hidden: readonly string[]
}

export interface ReloadParts {
  kit: Kit
  source: Source
  env: Environment
  /** Where records live, and where they would live by another configuration. */
  storeUrl: string
  storeOf(config: Config): string
  inForce: InForce
  /** A path of the file, which begins where the file lies. */
  path(path: string): string
  /** Lets nothing else change meanwhile. */
  alone<T>(change: () => Promise<T>): Promise<T>
}

/** Reads the file again, and the files of members that it names, and puts what they say in force, or tells why not. */
export class FileReload {
  private readonly parts: ReloadParts
  private readonly memberFiles: MemberFiles
  private watch: Watch | undefined = undefined
  private following = false
  /** The file's text as it was last taken or refused. */
  private text: string | undefined

  constructor(parts: ReloadParts) {
    const { kit, path, inForce, source } = parts
    this.parts = parts
    this.text = source.text
    this.memberFiles = new MemberFiles({
      kit,
      path,
      changed: (pool, members) => {
        inForce.put({ listed: new Map(inForce.listed).set(pool, members) }, refuseContradictions)
      },
    })
  }

  /** The members that the files of a configuration list. @throws CONFIG_INVALID */
  members(config: Config) {
    return this.memberFiles.read(config)
  }

  /** @throws CONFIG_INVALID that lists everything wrong; what was in force stays so */
  async now(actor: Actor): Promise<Reloaded> {
    const { env, source, inForce } = this.parts
    const { file } = source
    if (file === undefined) return { changes: 0, warnings: inForce.loaded.warnings, hidden: [] }
    return this.take(async () => {
      this.text = await textOf(file)
      this.watch?.know(this.text)
      return checkText(this.text, { file, env })
    }, actor)
  }

  follow(): void {
    const { kit, source, env, inForce, alone } = this.parts
    const { file } = source
    this.following = true
    this.memberFiles.follow(inForce.loaded.config)
    if (file === undefined) return
    this.watch = watchConfig(file, {
      clock: kit.clock,
      text: source.text,
      onChange: (text) =>
        // What somebody has asked to be read meanwhile is not read once more.
        alone(async () => {
          const known = text === this.text
          this.text = text
          if (!known) await this.take(() => checkText(text, { file, env }), { by: 'file' })
        }).then(
          () => {},
          () => {}, // it has been told
        ),
      onError: (error) => kit.complain(`the configuration cannot be read: ${messageOf(error)}`),
    })
  }

  close(): void {
    this.following = false
    this.watch?.close()
    this.watch = undefined
    this.memberFiles.close()
  }

  private async take(read: () => Promise<Checked>, actor: Actor): Promise<Reloaded> {
    const { inForce, source } = this.parts
    const { loaded: before } = inForce
    let changes: Difference[]
    try {
      const loaded = sound(await read(), source.file)
      const listed = await this.memberFiles.read(loaded.config)
      await this.loadHandlers(loaded.config)
      changes = inForce.put({ loaded, listed }, refuseContradictions)
    } catch (error) {
      await this.reject(actor, error)
      throw error
    }
    inForce.standsIn = false
    const { config } = inForce.loaded
    if (this.following) this.memberFiles.follow(config)
    const hidden = [
      ...hiddenByReload(before, inForce.resolved).map(hiddenNote),
      ...hiddenMembers(before.config, config, inForce.layer),
    ]
    const waiting = waitingForRestart({ ...this.parts, config: source.checked.config }, config)
    inForce.warn(waiting)
    await this.tell(actor, { changes, hidden, waiting })
    return { changes: changes.length, warnings: inForce.loaded.warnings, hidden }
  }

  private async tell(
    actor: Actor,
    found: {
      changes: readonly Difference[]
      hidden: readonly string[]
      waiting: readonly Problem[]
    },
  ): Promise<void> {
    const { kit, source } = this.parts
    const { file } = source
    const { changes, hidden, waiting } = found
    for (const note of [...hidden, ...waiting.map((warning) => lineOf(warning, undefined))]) {
      kit.complain(note)
      kit.logger.warn({ config: file }, note)
    }
    kit.emit({
      eventType: 'config_reloaded',
      component: 'config',
      context: {
        file,
        by: actor.by ?? 'unknown',
        changes: changes.length,
        hidden,
        ...(waiting.length > 0 && { waiting: waiting.map(({ path }) => path) }),
      },
    })
    await kit.audit(actor, 'config.reload', file ?? 'object', {
      after: { changes: changes.map(toWireDifference) },
    })
  }

  /** Loads the module of handlers that a configuration names. @throws CONFIG_INVALID */
  private async loadHandlers({ deadLetters }: Config): Promise<void> {
    const file = deadLetters?.handlers
    if (file === undefined) return
    try {
      await import(pathToFileURL(this.parts.path(file)).href)
    } catch (error) {
      throw configInvalid('the configuration', [
        { path: 'dead_letters.handlers', message: `cannot be loaded: ${messageOf(error)}` },
      ])
    }
  }

  private async reject(actor: Actor, error: unknown): Promise<void> {
    const { kit, source } = this.parts
    const { file } = source
    const reason = messageOf(error)
    const details = isHoldfastError(error) ? error.details : undefined
    kit.complain(`the configuration was not taken, what was in force stays so: ${reason}`)
    kit.emit({
      eventType: 'config_rejected',
      component: 'config',
      context: { file, by: actor.by ?? 'unknown', reason, ...(details && { details }) },
    })
    await kit.audit(actor, 'config.reject', file ?? 'object', { after: { reason } })
  }
}
