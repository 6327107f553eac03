import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { callApi, sendRequest } from '../../api/client.js'
import { ApiClientError } from '../../api/error-response.js'
import { hasRole } from '../../api/role.js'
import type { WirePolicy } from '../../api/types.js'
import { ActionButton } from '../../components/action-button.js'
import { PageHead, Panel } from '../../components/basics.js'
import { confirm } from '../../components/confirm-dialog.js'
import { toast } from '../../components/toast.js'
import { navigate, urlFor } from '../../route.js'
import { ConflictBanner } from './conflict-banner.js'
import { PolicyDiff } from './diff.js'
import { diffRecords, type PolicyDraft, toDraft, toPolicy } from './draft.js'
import { type FormField, GROUPS, labelOf } from './fields.js'
import { FieldInput, type OriginLabel } from './input.js'
import type { LoadedPolicy } from './load.js'
import { mergeDrafts } from './merge.js'
import { NewIdInput, problemOfId } from './new-id.js'
import { computeSchedule } from './schedule.js'
import { ScheduleChart } from './schedule-chart.js'
import { SharedBreaker } from './shared-breaker.js'
import { useUnsavedWarning } from './unsaved.js'
import { UsedBy } from './used-by.js'
import { useValidation } from './validate.js'
import { toYaml } from './yaml.js'
import { YamlView } from './yaml-view.js'

/** The creation of a policy. */
export interface PolicyCreation {
  /** The initial id. */
  readonly id: string
  readonly existingIds: ReadonlySet<string>
  /** The policy whose values the new one gets. */
  readonly source: string
}

/** The fields that have no effect on a policy with a shared breaker. */
const DEDICATED_BREAKER_FIELDS: ReadonlySet<string> = new Set([
  'enable_circuit_breaker',
  'circuit_breaker_threshold',
  'circuit_breaker_timeout',
])

/** The layers below the policy, whose values are not written in the policy itself. */
const LOWER_LAYERS: ReadonlySet<string> = new Set(['built-in', 'global_defaults'])

/** The form of a policy. `latest` is what the server has now, which another user may have changed. */
export function PolicyForm(props: {
  latest: LoadedPolicy
  creation?: PolicyCreation
  onSaved: (id: string) => void
}) {
  const { latest, creation, onSaved } = props
  const { config, origins, filePolicy } = latest
  /** The state that the user edits. */
  const edited = useSignal(latest)
  const draft = useSignal<PolicyDraft>(toDraft(latest.policy))
  const newId = useSignal(creation?.id ?? '')
  /** The last response of the server that the form has taken into account. */
  const known = useSignal(latest)
  const isSaving = useSignal(false)

  const { policy, etag } = edited.value
  const id = creation === undefined ? policy.id : newId.value.trim()
  const before = toDraft(policy)
  const changed = toPolicy(policy, draft.value)
  const changes = diffRecords(toPolicy(policy, before), changed)
  const problems = useValidation(changed, config.circuit_breakers)
  const idProblem = creation === undefined ? undefined : problemOfId(id, creation.existingIds)
  const isAdmin = hasRole('admin')
  const path = `/policies/${encodeURIComponent(id)}`
  const isUnsaved = changes.length > 0 || (creation !== undefined && newId.value !== creation.id)
  const isOutdated = latest !== known.value && latest.etag !== etag && !isSaving.value
  const isConflict = isOutdated && changes.length > 0
  useUnsavedWarning(isUnsaved && !isSaving.value, id === '' ? 'the new policy' : id)

  const adopt = (next: PolicyDraft): void => {
    edited.value = latest
    known.value = latest
    draft.value = next
  }
  // Without changes in this form, the form follows the server.
  useEffect(() => {
    if (isOutdated && !isConflict) adopt(toDraft(latest.policy))
  }, [isOutdated, isConflict, latest])

  const save = (): void =>
    confirm({
      title: creation === undefined ? `Save ${id}?` : `Create ${id}?`,
      text: (
        <>
          <p>Takes effect immediately.</p>
          {changes.length > 0 && <PolicyDiff of={changes} label="Changes to save" />}
        </>
      ),
      action: creation === undefined ? 'Save' : 'Create policy',
      async run(reason) {
        const headers: Record<string, string> =
          etag === undefined ? { 'if-none-match': '*' } : { 'if-match': etag }
        isSaving.value = true
        try {
          const body = creation === undefined ? changed : { ...changed, id }
          const response = await sendRequest('PUT', path, { body, reason, headers })
          const saved = (await response.json()) as WirePolicy
          known.value = latest
          edited.value = { ...latest, policy: saved, etag: response.headers.get('etag') ?? undefined }
          draft.value = toDraft(saved)
        } catch (error) {
          isSaving.value = false
          if (!(error instanceof ApiClientError) || error.status !== 412) throw error
          throw new Error(
            creation === undefined
              ? 'Another user changed the policy. Close this dialog to merge the changes.'
              : 'A policy with this ID exists already.',
          )
        }
        toast(creation === undefined ? `${id} was saved.` : `${id} was created.`)
        onSaved(id)
        // A form that creates a policy is replaced, and has no unsaved changes any more.
        if (creation === undefined) isSaving.value = false
      },
    })
  const remove = (): void =>
    confirm({
      title: `Delete ${id}?`,
      text: 'Operations with this name get the default policy. A policy that operations are mapped to cannot be deleted.',
      action: 'Delete',
      isDangerous: true,
      async run(reason) {
        await callApi('DELETE', path, {
          reason,
          ...(etag === undefined ? {} : { headers: { 'if-match': etag } }),
        })
        draft.value = before
        toast(`${id} was deleted.`)
        navigate('/policies')
      },
    })

  const merged = isConflict ? mergeDrafts(before, draft.value, toDraft(latest.policy)) : undefined
  const fileDraft = filePolicy && toDraft(filePolicy)
  const sharedBreaker = String(draft.value['circuit_breaker'] ?? '')
  const isWritten = (name: string): boolean =>
    changes.some((change) => change.name.split('.')[0] === name) ||
    !LOWER_LAYERS.has(origins[name]?.origin ?? (creation === undefined ? 'policy' : 'built-in'))
  const written = Object.fromEntries(
    Object.entries(changed).filter(
      ([name, value]) =>
        isWritten(name) && !(value === null && !changes.some((change) => change.name === name)),
    ),
  )

  const renderField = (field: FormField) => (
    <FieldInput
      key={field.name}
      field={field}
      value={draft.value[field.name] ?? ''}
      origin={formatOrigin(origins[field.name.split('.')[0] ?? ''])}
      problem={problems.get(field.name)}
      changed={draft.value[field.name] !== before[field.name]}
      disabled={sharedBreaker !== '' && DEDICATED_BREAKER_FIELDS.has(field.name)}
      breakers={Object.keys(config.circuit_breakers ?? {})}
      fileValue={
        fileDraft !== undefined && fileDraft[field.name] !== draft.value[field.name]
          ? fileDraft[field.name]
          : undefined
      }
      onInput={(value) => {
        draft.value = { ...draft.peek(), [field.name]: value }
      }}
    />
  )

  return (
    <form
      onSubmit={(submit) => {
        submit.preventDefault()
        save()
      }}
    >
      <PageHead title={creation === undefined ? id : 'Create policy'}>
        {isAdmin && (
          <>
            <ActionButton
              type="submit"
              disabled={
                problems.size > 0 ||
                (creation === undefined ? changes.length === 0 || isConflict : idProblem !== undefined)
              }
            >
              {creation === undefined ? 'Save' : 'Create policy'}
            </ActionButton>
            <button
              type="button"
              class="secondary"
              disabled={changes.length === 0}
              onClick={() => {
                draft.value = before
              }}
            >
              Discard changes
            </button>
            {creation === undefined && (
              <>
                <button
                  type="button"
                  class="secondary"
                  onClick={() => navigate(urlFor('/policies', { fresh: 'true', source: id }))}
                >
                  Duplicate
                </button>
                <ActionButton type="button" class="danger" onClick={remove}>
                  Delete
                </ActionButton>
              </>
            )}
          </>
        )}
      </PageHead>
      {!isAdmin && <p class="hint">You can try out changes here; saving requires the role admin.</p>}
      {creation !== undefined && (
        <NewIdInput
          value={newId.value}
          problem={idProblem}
          existingIds={creation.existingIds}
          source={creation.source}
          onInput={(value) => {
            newId.value = value
          }}
        />
      )}
      {problems.has('') && (
        <p class="problem" role="alert">
          {problems.get('')}
        </p>
      )}
      {merged !== undefined && (
        <ConflictBanner
          id={id}
          etag={latest.etag}
          changes={diffRecords(toPolicy(policy, before), toPolicy(latest.policy, toDraft(latest.policy)))}
          conflicts={merged.conflicts}
          onMerge={() => adopt(merged.draft)}
          onDiscard={() => adopt(toDraft(latest.policy))}
        />
      )}
      <div class="panels">
        <Panel title="Schedule">
          <ScheduleChart schedule={computeSchedule(changed)} totalTimeout={changed['total_timeout']} />
        </Panel>
        <Panel title="Changes">
          {changes.length === 0 ? (
            <p class="hint">
              {creation === undefined
                ? 'No changes. Edit the fields below.'
                : `The values are those of ${creation.source}. Edit the fields below.`}
            </p>
          ) : (
            <PolicyDiff of={changes} label="Unsaved changes" />
          )}
          <p role="status" class="hint">
            {problems.size > 0 && `Not valid: ${[...problems.keys()].map(labelOf).join(', ')}.`}
          </p>
        </Panel>
        {GROUPS.map(([title, fields]) => (
          <Panel title={title} key={title}>
            <div class="fields">{fields.map(renderField)}</div>
            {title === 'Breaker' && sharedBreaker !== '' && (
              <SharedBreaker config={config} name={sharedBreaker} />
            )}
          </Panel>
        ))}
        <YamlView text={toYaml(id === '' ? 'new-policy' : id, written)} />
        {creation === undefined && <UsedBy config={config} id={id} />}
      </div>
    </form>
  )
}

const ORIGIN_NAMES: Record<string, string> = {
  'built-in': 'the built-in defaults',
  global_defaults: 'global_defaults',
  policy: 'the policy in the file',
  api: 'a live change',
}

/** The origin of a value, with the name of the file, and its path as a tooltip. */
function formatOrigin(input: LoadedPolicy['origins'][string] | undefined): OriginLabel | undefined {
  if (input === undefined) return undefined
  const name = ORIGIN_NAMES[input.origin] ?? input.origin
  if (input.where == null) return { text: name }
  return { text: `${name} (${input.where.replace(/^.*[\\/]/, '')})`, exact: input.where }
}
