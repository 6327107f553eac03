import {
  type Actor,
  addMember,
  changeMember,
  formatValue,
  idProblem,
  type MemberChange,
  memberId,
  type RuntimeContext,
  removeMember,
} from '@holdfast/config'
import type { Member, Pool } from 'holdfast'
import { createOptionsError, createProblem } from 'holdfast/internal'
import type { MemberUpdate, NewMember, PoolMemberStatus, PoolService } from '../api-types.js'
import type { Configuration } from '../config/configuration.js'
import type { PoolManager } from './pool-manager.js'

/** The fields of a member that audit records show: no credentials. */
const publicView = ({ value, weight = 1, region }: Member, status: string) => ({
  url: String(value),
  weight,
  ...(region !== undefined && { region }),
  status,
})

/** The pools of the configuration, and changes of their members. */
export class Pools implements PoolService {
  private readonly runtime: RuntimeContext
  private readonly config: Configuration
  private readonly pools: PoolManager
  /** Disabled members that were added in code, by pool. The configuration does not contain them. */
  private readonly disabledHere = new Map<string, Set<string>>()

  constructor(runtime: RuntimeContext, config: Configuration, pools: PoolManager) {
    this.runtime = runtime
    this.config = config
    this.pools = pools
  }

  get(id: string): Pool {
    return this.pools.get(id) as Pool
  }

  async list(): Promise<Pool[]> {
    return this.pools.list() as Pool[]
  }

  async addMember(poolId: string, input: NewMember, actor?: Actor): Promise<Member> {
    const pool = this.get(poolId)
    const { config } = this
    const { id = defaultMemberId(input), ...rest } = input
    if (typeof id !== 'string' || id === '')
      throw createOptionError('id', 'a string that is not empty', formatValue(id))
    const problem = idProblem(id)
    if (problem !== undefined) throw createOptionError('id', problem.expected, problem.got)
    if (pool.members().some((member) => member.id === id))
      throw createOptionError(
        'id',
        `an id that no other member of the pool ${poolId} has`,
        JSON.stringify(id),
      )
    await config.changeLayer(
      (layer) =>
        addMember(layer, poolId, config.filedMembers(poolId), { ...rest, id } as MemberChange & {
          id: string
        }),
      actor,
    )
    const member = this.find(poolId, id)
    const after = publicView(member, this.get(poolId).status(id))
    await this.runtime.audit(actor, 'member.add', `${poolId}/${id}`, { after })
    return member
  }

  async changeMember(poolId: string, id: string, update: MemberUpdate, actor?: Actor): Promise<Member> {
    const found = this.find(poolId, id)
    const { weight } = update
    const mode = modeAfter(update, this.memberStatus(poolId, id))
    if (mode === undefined && weight === undefined) return found
    const before = publicView(found, this.memberStatus(poolId, id))
    const { config } = this
    if (this.isConfigured(poolId, id))
      await config.changeLayer((layer) => {
        const wasDraining = layer.pools?.[poolId]?.members?.[id]?.draining != null
        return changeMember(layer, poolId, config.filedMembers(poolId), id, {
          ...(mode !== undefined && { enabled: mode !== 'disabled' }),
          ...(mode !== undefined &&
            (mode === 'draining' || wasDraining) && { draining: mode === 'draining' }),
          ...(weight !== undefined && { weight }),
        })
      }, actor)
    else {
      if (weight !== undefined) this.get(poolId).updateMember({ ...this.find(poolId, id), weight })
      if (mode !== undefined) this.setDisabledHere(poolId, id, mode === 'disabled')
    }
    const pool = this.get(poolId)
    // The requested mode applies even if code has drained or enabled the member before.
    if (mode === 'in_use') pool.enable(id)
    else if (mode !== undefined) pool.drain(id)
    const member = this.find(poolId, id)
    const after = publicView(member, this.memberStatus(poolId, id))
    await this.runtime.audit(actor, 'member.change', `${poolId}/${id}`, { before, after })
    return member
  }

  memberStatus(poolId: string, id: string): PoolMemberStatus {
    const status = this.get(poolId).status(id)
    if (status !== 'drained') return status
    const change = this.config.layer.pools?.[poolId]?.members?.[id]
    return change?.enabled === false || this.disabledHere.get(poolId)?.has(id) ? 'disabled' : status
  }

  private setDisabledHere(poolId: string, id: string, isDisabled: boolean): void {
    const ids = this.disabledHere.get(poolId) ?? new Set()
    this.disabledHere.set(poolId, ids)
    if (isDisabled) ids.add(id)
    else ids.delete(id)
  }

  async removeMember(poolId: string, id: string, actor?: Actor): Promise<void> {
    const before = publicView(this.find(poolId, id), this.memberStatus(poolId, id))
    const { config } = this
    this.disabledHere.get(poolId)?.delete(id)
    if (this.isConfigured(poolId, id))
      await config.changeLayer((layer) => removeMember(layer, poolId, config.filedMembers(poolId), id), actor)
    else this.get(poolId).remove(id)
    await this.runtime.audit(actor, 'member.remove', `${poolId}/${id}`, { before })
  }

  /** Whether a member is in the configuration. Other members were added in code and exist only in this process. */
  private isConfigured(poolId: string, id: string): boolean {
    return this.config.members(poolId).some(({ entry }) => memberId(entry) === id)
  }

  private find(poolId: string, id: string): Member {
    const member = this.get(poolId)
      .members()
      .find((one) => one.id === id)
    if (member !== undefined) return member
    const name = typeof id === 'string' && idProblem(id) !== undefined ? 'another id' : formatValue(id)
    throw createOptionError('member', `a member of the pool ${poolId}`, name)
  }
}

type Mode = 'in_use' | 'draining' | 'disabled'

/** Whether a member is in use after an update; undefined where the update does not change that. */
function modeAfter({ enabled, draining }: MemberUpdate, status: PoolMemberStatus): Mode | undefined {
  if (enabled === true && draining === true)
    throw createOptionError('draining', 'a member that is enabled or draining', 'both')
  if (enabled === false) return 'disabled'
  if (draining === true) return 'draining'
  if (enabled === true) return 'in_use'
  return draining === false && status !== 'disabled' ? 'in_use' : undefined
}

const createOptionError = (path: string, expected: string, got: string) =>
  createOptionsError('a member of a pool cannot be changed', [createProblem(path, 'invalid', expected, got)])

/** The id of a member without one. A url that is not valid is not shown, because it may contain a password. */
function defaultMemberId(input: NewMember): string {
  if (typeof input?.url === 'string' && URL.canParse(input.url)) return new URL(input.url).host
  throw createOptionError(
    'url',
    'a url that begins with http://, https://, socks5:// or socks5h://',
    'another value',
  )
}
