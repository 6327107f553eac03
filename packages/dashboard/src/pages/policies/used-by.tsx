import { DEFAULT_POLICY_ID } from '@holdfast/records/constants'
import { Panel } from '../../components/basics.js'
import { urlFor } from '../../route.js'
import type { PolicyConfig } from './load.js'
import { type PolicyUser, usersOf } from './users.js'

const urlOf = ({ kind, name }: PolicyUser): string =>
  kind === 'pool' ? '/pools' : urlFor('/operations', { id: name })

/** The operations and pools that use a policy, and the sessions that it handled. */
export function UsedBy({ config, id }: { config: PolicyConfig; id: string }) {
  const users = usersOf(config, id)
  return (
    <Panel title="Used by">
      <ul class="users" aria-label="Used by">
        {users.map((user) => (
          <li key={`${user.kind} ${user.name} ${user.condition}`}>
            {user.kind} <a href={urlOf(user)}>{user.name}</a>
            {user.condition !== undefined && <span class="hint"> for {user.condition}</span>}
          </li>
        ))}
        <li>
          {id === DEFAULT_POLICY_ID ? (
            'Every operation without another policy'
          ) : (
            <>
              The operation <a href={urlFor('/operations', { id })}>{id}</a>, and calls that name the policy
            </>
          )}
        </li>
      </ul>
      <p>
        <a href={urlFor('/sessions', { policy_id: id })}>Sessions of this policy</a>
      </p>
    </Panel>
  )
}
