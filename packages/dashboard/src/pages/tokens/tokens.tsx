import { signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { callApi, getJson } from '../../api/client.js'
import { access, hasRole, signIn } from '../../api/role.js'
import type { WireCreatedToken, WireToken } from '../../api/types.js'
import { useQuery } from '../../api/use-query.js'
import { ActionButton } from '../../components/action-button.js'
import { CopyButton, EmptyState, PageHead, Panel, QueryView, Time } from '../../components/basics.js'
import { confirm } from '../../components/confirm-dialog.js'
import { type Column, DataTable } from '../../components/data-table.js'
import { toast } from '../../components/toast.js'
import { route } from '../../route.js'
import { revokeText } from './revoke-text.js'

const PATH = '/tokens'

/**
 * The token that was created last, until the user leaves the page. It is not part of a component: after the first token the
 * server requires a sign-in, and the page is rendered again.
 */
const createdToken = signal<WireCreatedToken | undefined>(undefined)

const ROLE_NAMES = {
  viewer: 'viewer: read',
  operator: 'operator: read and operate',
  admin: 'admin: everything, including tokens',
} as const

function CreateForm({ isFirst, onCreated }: { isFirst: boolean; onCreated: () => void }) {
  const name = useSignal('')
  const role = useSignal<keyof typeof ROLE_NAMES>('viewer')
  const selectedRole = isFirst ? 'admin' : role.value
  const create = async (reason: string): Promise<void> => {
    const body = { name: name.value.trim(), role: selectedRole }
    const created = await callApi<WireCreatedToken>('POST', PATH, { body, reason })
    createdToken.value = created
    name.value = ''
    if (isFirst) await signIn(created.token, false)
    onCreated()
  }
  return (
    <form
      class="filters"
      aria-label="Create token"
      onSubmit={(submit) => {
        submit.preventDefault()
        confirm({
          title: `Create token ${name.value.trim()}?`,
          text: isFirst
            ? 'From now on every request requires a token, also on this machine. This browser is signed in with the new token.'
            : `Callers with the token have the role ${selectedRole}.`,
          action: 'Create',
          run: create,
        })
      }}
    >
      <label>
        Name
        <input
          type="text"
          required
          maxLength={64}
          pattern="[\w.@\-]+"
          title="letters, digits, _ . @ and -"
          autocomplete="off"
          value={name.value}
          onInput={(input) => {
            name.value = input.currentTarget.value
          }}
        />
      </label>
      <label>
        Role
        <select
          value={selectedRole}
          disabled={isFirst}
          onChange={(change) => {
            role.value = change.currentTarget.value as keyof typeof ROLE_NAMES
          }}
        >
          {Object.entries(ROLE_NAMES).map(([value, text]) => (
            <option value={value} selected={value === selectedRole}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <ActionButton type="submit" class="small">
        Create token
      </ActionButton>
    </form>
  )
}

/** The new token with its secret, which is shown once. */
function CreatedToken({ created }: { created: WireCreatedToken }) {
  return (
    <Panel title={`Token ${created.name}`}>
      <p>
        Copy the token now. It is stored as a hash and <strong>not shown again</strong>.
      </p>
      <p>
        <code>{created.token}</code> <CopyButton text={created.token} label="token" />
      </p>
      <div class="actions">
        <button
          type="button"
          class="small secondary"
          onClick={() => {
            createdToken.value = undefined
          }}
        >
          Done
        </button>
      </div>
    </Panel>
  )
}

function revoke(token: WireToken, all: readonly WireToken[], onRevoked: () => void): void {
  const { name } = token
  confirm({
    title: `Revoke token ${name}?`,
    text: revokeText(token, all, access.peek()),
    action: 'Revoke',
    isDangerous: true,
    async run(reason) {
      await callApi('DELETE', `${PATH}/${encodeURIComponent(name)}`, { reason })
      toast(`Token ${name} was revoked.`)
      onRevoked()
    },
  })
}

const columnsFor = (all: readonly WireToken[], onRevoked: () => void): Column<WireToken>[] => [
  { key: 'name', title: 'Name', value: ({ name }) => name },
  { key: 'role', title: 'Role', value: ({ role }) => role },
  {
    key: 'created_at',
    title: 'Created',
    value: ({ created_at }) => created_at,
    cell: ({ created_at }) => <Time at={created_at} />,
  },
  {
    key: 'actions',
    title: 'Actions',
    cell: (token) => (
      <ActionButton
        class="small secondary"
        aria-label={`Revoke ${token.name}`}
        onClick={() => revoke(token, all, onRevoked)}
      >
        Revoke
      </ActionButton>
    ),
  },
]

function TokenList() {
  const loaded = useQuery('tokens', (signal) => getJson<{ items: WireToken[] }>(PATH, {}, signal))
  return (
    <QueryView of={loaded}>
      {({ items }) => (
        <>
          <CreateForm isFirst={items.length === 0} onCreated={loaded.reload} />
          {createdToken.value !== undefined && <CreatedToken created={createdToken.value} />}
          {items.length === 0 ? (
            <EmptyState title="No tokens">
              Every user of this machine is admin, and other machines have no access. The first token gets the
              role admin; from then on every request requires a token.
            </EmptyState>
          ) : (
            <DataTable
              label="Tokens"
              columns={columnsFor(items, loaded.reload)}
              rows={items}
              keyOf={({ name }) => name}
              defaultSort="name"
            />
          )}
        </>
      )}
    </QueryView>
  )
}

/** The page of tokens, for admins. */
export function Tokens() {
  useEffect(
    () => () => {
      if (route.peek().path !== PATH) createdToken.value = undefined
    },
    [],
  )
  return (
    <>
      <PageHead title="Tokens" />
      {hasRole('admin') ? (
        <TokenList />
      ) : (
        access.value !== undefined && (
          <EmptyState title="Not allowed">Only callers with the role admin can see tokens.</EmptyState>
        )
      )}
    </>
  )
}
