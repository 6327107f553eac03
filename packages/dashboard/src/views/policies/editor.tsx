import { useSignal } from '@preact/signals'
import { ApiError, call, get, request } from '../../api/call.js'
import { useLoad } from '../../api/load.js'
import { may } from '../../api/role.js'
import type { Explanation, Policy } from '../../api/types.js'
import { ask } from '../../parts/ask.js'
import { Head, Panel, Show } from '../../parts/basics.js'
import { say } from '../../parts/notice.js'
import { address, go } from '../../route.js'
import { Diff } from './diff.js'
import { type Draft, differences, draftOf, policyOf, said } from './draft.js'
import { Drawing } from './drawing.js'
import { GROUPS } from './fields.js'
import { History } from './history.js'
import { Input, type Origin } from './input.js'
import { waitsOf } from './schedule.js'
import { useValidation } from './validate.js'

interface Found {
  readonly policy: Policy
  readonly etag: string | undefined
  readonly breakers: unknown
  readonly origins: Record<string, { origin: string; where?: string | null }>
}

async function load(id: string, fresh: boolean, signal: AbortSignal): Promise<Found> {
  const [answer, config, explained] = await Promise.all([
    request('GET', `/policies/${encodeURIComponent(fresh ? 'default' : id)}`, { signal }),
    get<{ circuit_breakers?: unknown }>('/config', {}, signal),
    get<Explanation>('/config/explain', { operation: fresh ? 'default' : id }, signal),
  ])
  const policy = (await answer.json()) as Policy
  return {
    policy: fresh ? { ...policy, id, name: id, description: null } : policy,
    etag: fresh ? undefined : (answer.headers.get('etag') ?? undefined),
    breakers: config.circuit_breakers,
    origins: fresh ? {} : (explained.policies.find(({ policy_id }) => policy_id === id)?.values ?? {}),
  }
}

/** One policy: what it says, what that means, where it comes from; changed here, checked by the server as one writes. */
export function Editor({ id, fresh }: { id: string; fresh: boolean }) {
  const saved = useSignal(0)
  const loaded = useLoad(`${id} ${fresh}`, (signal) => load(id, fresh, signal))
  return (
    <>
      <p>
        <a href="/policies">← All policies</a>
      </p>
      <Show of={loaded}>
        {(found) => (
          <Form
            key={`${found.etag}`}
            found={found}
            fresh={fresh}
            onSaved={() => {
              saved.value++
              if (fresh) go(address('/policies', { id }), { replace: true })
              else loaded.reload()
            }}
          />
        )}
      </Show>
      {!fresh && loaded.data !== undefined && <History id={id} version={saved.value} />}
    </>
  )
}

function Form({ found, fresh, onSaved }: { found: Found; fresh: boolean; onSaved: () => void }) {
  const { policy, etag, origins } = found
  const before = draftOf(policy)
  const draft = useSignal<Draft>(before)
  const meant = policyOf(policy, draft.value)
  const changes = differences(fresh ? {} : policyOf(policy, before), meant)
  const problems = useValidation(meant, found.breakers)
  const admin = may('admin')
  const path = `/policies/${encodeURIComponent(policy.id)}`

  const save = (): void =>
    ask({
      title: fresh ? `Create ${policy.id}?` : `Save ${policy.id}?`,
      text: (
        <>
          <p>Calls follow it at once.</p>
          <Diff of={changes} label="What will change" />
        </>
      ),
      action: 'Save',
      async run(reason) {
        const headers: Record<string, string> =
          etag === undefined ? { 'if-none-match': '*' } : { 'if-match': etag }
        try {
          await call('PUT', path, { body: meant, reason, headers })
        } catch (error) {
          if (!(error instanceof ApiError) || error.status !== 412) throw error
          throw new Error('Somebody changed it meanwhile. Load the page again, and repeat your change.')
        }
        say(`${policy.id} is saved.`)
        onSaved()
      },
    })
  const remove = (): void =>
    ask({
      title: `Delete ${policy.id}?`,
      text: 'Operations that name it get the default policy. One that something is mapped to is not deleted.',
      action: 'Delete',
      danger: true,
      async run(reason) {
        await call('DELETE', path, {
          reason,
          ...(etag === undefined ? {} : { headers: { 'if-match': etag } }),
        })
        say(`${policy.id} is deleted.`)
        go('/policies')
      },
    })

  return (
    <form
      onSubmit={(submit) => {
        submit.preventDefault()
        save()
      }}
    >
      <Head title={fresh ? `New policy ${policy.id}` : policy.id}>
        {admin && (
          <>
            <button type="submit" disabled={changes.length === 0 || problems.size > 0}>
              {fresh ? 'Create' : 'Save'}
            </button>
            <button
              type="button"
              class="secondary"
              disabled={changes.length === 0 || fresh}
              onClick={() => {
                draft.value = before
              }}
            >
              Undo changes
            </button>
            {!fresh && (
              <button type="button" class="danger" onClick={remove}>
                Delete
              </button>
            )}
          </>
        )}
      </Head>
      {!admin && <p class="hint">You may look and try out here; saving takes the role admin.</p>}
      {problems.has('') && (
        <p class="problem" role="alert">
          {problems.get('')}
        </p>
      )}
      <div class="panels">
        <Panel title="Schedule">
          <Drawing waits={waitsOf(meant)} />
        </Panel>
        <Panel title="Changes">
          {changes.length === 0 || fresh ? (
            <p class="hint">
              {fresh ? 'A new policy starts from the default one.' : 'None yet. Write in the fields below.'}
            </p>
          ) : (
            <Diff of={changes} label="Changes not saved yet" />
          )}
          <p role="status" class="hint">
            {problems.size > 0 && `The server would not take ${[...problems.keys()].map(said).join(', ')}.`}
          </p>
        </Panel>
        {GROUPS.map(([title, fields]) => (
          <Panel title={title} key={title}>
            <div class="fields">
              {fields.map((field) => (
                <Input
                  key={field.name}
                  field={field}
                  value={draft.value[field.name] ?? ''}
                  origin={originOf(origins[field.name.split('.')[0] ?? ''])}
                  problem={problems.get(field.name)}
                  changed={draft.value[field.name] !== before[field.name]}
                  onInput={(value) => {
                    draft.value = { ...draft.peek(), [field.name]: value }
                  }}
                />
              ))}
            </div>
          </Panel>
        ))}
      </div>
    </form>
  )
}

const PLACES: Record<string, string> = {
  'built-in': 'the built-in defaults',
  global_defaults: 'global_defaults',
  policy: 'the policy in the file',
  api: 'a change through the API',
}

/** Where a value comes from: the file by its name, and by its whole path on hover. */
function originOf(given: { origin: string; where?: string | null } | undefined): Origin | undefined {
  if (given === undefined) return undefined
  const place = PLACES[given.origin] ?? given.origin
  if (given.where == null) return { text: place }
  return { text: `${place} (${given.where.replace(/^.*[\\/]/, '')})`, exact: given.where }
}
