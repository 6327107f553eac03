import { useSignal } from '@preact/signals'
import { ApiClientError, callApi, getJson, sendRequest } from '../../api/client.js'
import { hasRole } from '../../api/role.js'
import type { WireExplanation, WirePolicy } from '../../api/types.js'
import { useQuery } from '../../api/use-query.js'
import { PageHead, Panel, QueryView } from '../../components/basics.js'
import { confirm } from '../../components/confirm-dialog.js'
import { toast } from '../../components/toast.js'
import { navigate, urlFor } from '../../route.js'
import { PolicyDiff } from './diff.js'
import { diffRecords, formatFieldName, type PolicyDraft, toDraft, toPolicy } from './draft.js'
import { GROUPS } from './fields.js'
import { PolicyHistory } from './history.js'
import { FieldInput, type OriginLabel } from './input.js'
import { computeWaits } from './schedule.js'
import { ScheduleChart } from './schedule-chart.js'
import { useValidation } from './validate.js'

interface LoadedPolicy {
  readonly policy: WirePolicy
  readonly etag: string | undefined
  readonly breakers: unknown
  readonly origins: WireExplanation['policies'][number]['values']
}

async function loadPolicy(id: string, fresh: boolean, signal: AbortSignal): Promise<LoadedPolicy> {
  const [response, config, explained] = await Promise.all([
    sendRequest('GET', `/policies/${encodeURIComponent(fresh ? 'default' : id)}`, { signal }),
    getJson<{ circuit_breakers?: unknown }>('/config', {}, signal),
    getJson<WireExplanation>('/config/explain', { operation: fresh ? 'default' : id }, signal),
  ])
  const policy = (await response.json()) as WirePolicy
  return {
    policy: fresh ? { ...policy, id, name: id, description: null } : policy,
    etag: fresh ? undefined : (response.headers.get('etag') ?? undefined),
    breakers: config.circuit_breakers,
    origins: fresh ? {} : (explained.policies.find(({ policy_id }) => policy_id === id)?.values ?? {}),
  }
}

/** The page of one policy: values, origins, schedule and history. The server validates changes while the user types. */
export function PolicyEditor({ id, fresh }: { id: string; fresh: boolean }) {
  const saved = useSignal(0)
  const loaded = useQuery(`${id} ${fresh}`, (signal) => loadPolicy(id, fresh, signal))
  return (
    <>
      <p>
        <a href="/policies">← All policies</a>
      </p>
      <QueryView of={loaded}>
        {(found) => (
          <PolicyForm
            key={`${found.etag}`}
            found={found}
            fresh={fresh}
            onSaved={() => {
              saved.value++
              if (fresh) navigate(urlFor('/policies', { id }), { replace: true })
              else loaded.reload()
            }}
          />
        )}
      </QueryView>
      {!fresh && loaded.data !== undefined && <PolicyHistory id={id} version={saved.value} />}
    </>
  )
}

function PolicyForm({ found, fresh, onSaved }: { found: LoadedPolicy; fresh: boolean; onSaved: () => void }) {
  const { policy, etag, origins } = found
  const before = toDraft(policy)
  const draft = useSignal<PolicyDraft>(before)
  const changed = toPolicy(policy, draft.value)
  const changes = diffRecords(fresh ? {} : toPolicy(policy, before), changed)
  const problems = useValidation(changed, found.breakers)
  const isAdmin = hasRole('admin')
  const path = `/policies/${encodeURIComponent(policy.id)}`

  const save = (): void =>
    confirm({
      title: fresh ? `Create ${policy.id}?` : `Save ${policy.id}?`,
      text: (
        <>
          <p>The change applies immediately.</p>
          <PolicyDiff of={changes} label="Changes to save" />
        </>
      ),
      action: 'Save',
      async run(reason) {
        const headers: Record<string, string> =
          etag === undefined ? { 'if-none-match': '*' } : { 'if-match': etag }
        try {
          await callApi('PUT', path, { body: changed, reason, headers })
        } catch (error) {
          if (!(error instanceof ApiClientError) || error.status !== 412) throw error
          throw new Error('The policy was changed in the meantime. Reload the page and repeat your change.')
        }
        toast(`${policy.id} was saved.`)
        onSaved()
      },
    })
  const remove = (): void =>
    confirm({
      title: `Delete ${policy.id}?`,
      text: 'Operations with this name get the default policy. A policy that operations are mapped to cannot be deleted.',
      action: 'Delete',
      isDangerous: true,
      async run(reason) {
        await callApi('DELETE', path, {
          reason,
          ...(etag === undefined ? {} : { headers: { 'if-match': etag } }),
        })
        toast(`${policy.id} was deleted.`)
        navigate('/policies')
      },
    })

  return (
    <form
      onSubmit={(submit) => {
        submit.preventDefault()
        save()
      }}
    >
      <PageHead title={fresh ? `New policy ${policy.id}` : policy.id}>
        {isAdmin && (
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
      </PageHead>
      {!isAdmin && <p class="hint">You can try out changes here; saving requires the role admin.</p>}
      {problems.has('') && (
        <p class="problem" role="alert">
          {problems.get('')}
        </p>
      )}
      <div class="panels">
        <Panel title="Schedule">
          <ScheduleChart waits={computeWaits(changed)} />
        </Panel>
        <Panel title="Changes">
          {changes.length === 0 || fresh ? (
            <p class="hint">
              {fresh ? 'A new policy starts with the default values.' : 'No changes. Edit the fields below.'}
            </p>
          ) : (
            <PolicyDiff of={changes} label="Unsaved changes" />
          )}
          <p role="status" class="hint">
            {problems.size > 0 && `Not valid: ${[...problems.keys()].map(formatFieldName).join(', ')}.`}
          </p>
        </Panel>
        {GROUPS.map(([title, fields]) => (
          <Panel title={title} key={title}>
            <div class="fields">
              {fields.map((field) => (
                <FieldInput
                  key={field.name}
                  field={field}
                  value={draft.value[field.name] ?? ''}
                  origin={formatOrigin(origins[field.name.split('.')[0] ?? ''])}
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

const ORIGIN_NAMES: Record<string, string> = {
  'built-in': 'the built-in defaults',
  global_defaults: 'global_defaults',
  policy: 'the policy in the file',
  api: 'a change through the API',
}

/** The origin of a value, with the name of the file, and its path as a tooltip. */
function formatOrigin(input: LoadedPolicy['origins'][string] | undefined): OriginLabel | undefined {
  if (input === undefined) return undefined
  const name = ORIGIN_NAMES[input.origin] ?? input.origin
  if (input.where == null) return { text: name }
  return { text: `${name} (${input.where.replace(/^.*[\\/]/, '')})`, exact: input.where }
}
