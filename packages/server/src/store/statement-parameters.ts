/**
 * The parameters of every statement, by file and name, as `sql/queries` names them: what callers are checked against.
 * Written by `npm run statements`; a test compares.
 */
export interface StatementParameters {
  'crons/crons.sql': {
    cron_clock: never;
    create_cron:
      | 'suffix'
      | 'first_ms'
      | 'priority'
      | 'tenant'
      | 'name'
      | 'expr'
      | 'timezone'
      | 'task'
      | 'queue'
      | 'payload'
      | 'config'
      | 'job_config'
      | 'limits'
      | 'skips'
      | 'workflow';
    put_cron:
      | 'suffix'
      | 'first_ms'
      | 'priority'
      | 'tenant'
      | 'name'
      | 'expr'
      | 'timezone'
      | 'task'
      | 'queue'
      | 'payload'
      | 'config'
      | 'job_config'
      | 'limits'
      | 'skips'
      | 'workflow';
    put_ended_cron:
      | 'priority'
      | 'task'
      | 'queue'
      | 'payload'
      | 'config'
      | 'job_config'
      | 'limits'
      | 'skips'
      | 'workflow'
      | 'tenant'
      | 'name'
      | 'expr'
      | 'timezone';
    cron_of_tenant: 'tenant' | 'id';
    owner_of_cron: 'id' | 'bucket';
    pause_cron: 'tenant' | 'id' | 'revision';
    resume_cron: 'first_ms' | 'tenant' | 'id' | 'revision';
    trigger_cron: 'suffix' | 'tenant' | 'id' | 'slots';
    delete_cron: 'tenant' | 'id';
    delete_firings: 'tenant' | 'id';
  };
  'crons/firing.sql': {
    cron_agenda: 'lead_ms' | 'max_crons';
    fire_crons:
      | 'tenants'
      | 'ids'
      | 'occurrences_ms'
      | 'followings_ms'
      | 'kinds'
      | 'suffixes'
      | 'revisions'
      | 'planned_at_ms'
      | 'valid_ms'
      | 'slots';
    take_starts: 'tenants' | 'ids' | 'occurrences_ms' | 'revisions' | 'planned_at_ms' | 'valid_ms';
    record_starts:
      | 'tenants'
      | 'ids'
      | 'occurrences_ms'
      | 'followings_ms'
      | 'kinds'
      | 'workflow_ids'
      | 'keys'
      | 'life_secs'
      | 'slots';
    hold_start: 'tenant' | 'id';
    record_triggered_start: 'workflow_id' | 'tenant' | 'id' | 'slots';
  };
  'durable/checkpoints.sql': {
    store_checkpoints: 'ids' | 'tokens' | 'names' | 'values' | 'max_bytes' | 'max_count';
    uncount_checkpoint: 'value' | 'id';
    checkpoint_of_job: 'id' | 'name';
    checkpoints_of_job: 'id';
    tenant_of_lease: 'id' | 'token';
    keep_checkpoints: 'from_ids' | 'to_ids' | 'names' | 'tenant';
  };
  'durable/children.sql': {
    hold_lease: 'id' | 'token';
    take_lease: 'id' | 'token';
    begin_parent: 'id' | 'tenant';
    children_by_name: 'names' | 'id';
    add_children: 'id' | 'tenant' | 'child_ids' | 'names' | 'detached';
    lock_parent: 'id';
    await_children: 'checkpoint' | 'id' | 'names' | 'pending';
    ends_of_children: 'names' | 'id' | 'max_bytes';
    end_of_wait: 'tenant' | 'id' | 'checkpoint';
    is_awaiting: 'id' | 'checkpoint' | 'tenant';
    end_waiting: 'id';
    parents_of: 'ids';
    forgotten_parents: 'after_id' | 'max_rows';
    walk_parents: 'after_id' | 'max_rows';
    children_to_cancel: 'id' | 'max_rows';
    unheard_ends: 'after_parent' | 'after_child' | 'max_rows';
    mend_ends: 'id';
  };
  'durable/retention.sql': {
    expire_checkpoints: 'after_id' | 'hours' | 'max_rows';
    expire_children: 'after_id' | 'hours' | 'max_rows';
  };
  'durable/waits.sql': {
    lock_signal: 'signal';
    suspend: 'id' | 'token' | 'checkpoint' | 'signal' | 'key' | 'answer' | 'until' | 'delay_secs' | 'ask' | 'children';
    first_wait: 'tenant' | 'signal' | 'key';
    wake: 'tenant' | 'id' | 'checkpoint' | 'answer';
    drop_wait: 'id';
    store_signal: 'ttl_secs' | 'job_id' | 'workflow_id' | 'tenant' | 'signal' | 'key' | 'value' | 'max_stored';
    count_signals: 'tenant' | 'max_stored';
    wait_of_job: 'id';
    deadlines_of_job: 'id';
    end_sleep: 'id';
    waits_of_tenant: 'tenant' | 'after_since' | 'after_id' | 'signal' | 'key' | 'asks' | 'max_waits';
    forget_waits: 'after_id' | 'max_rows';
    forget_signals: 'max_rows';
    forget_job_signals: 'after_id' | 'max_rows';
    suspended_jobs: 'max_signals' | 'max_waits';
    forget_workflow_signals: 'after_id' | 'max_rows';
    answers_of: 'ids';
  };
  'insight/all-tenants.sql': {
    overview_of_all: 'max_rows' | 'max_tenants';
    paused_queues: 'max_queues';
    oldest_past_retention: 'hours' | 'max_tenants';
    depths_by_queue_of_all: 'max_rows' | 'max_queues' | 'max_tenants';
    tenants_of_all: 'after' | 'max_tenants' | 'max_running' | 'max_waiting';
  };
  'insight/counts.sql': {
    counts: 'tenant' | 'max_rows' | 'sample' | 'queue';
  };
  'insight/queue-detail.sql': {
    queue_known: 'queue';
    queue_by_task: 'tenant' | 'max_rows' | 'queue' | 'max_tasks';
    queue_next: 'queue' | 'max_rows' | 'tenant' | 'max_jobs';
    queue_held: 'max_rows' | 'queue' | 'workers';
  };
  'insight/series.sql': {
    lock_series_names: never;
    name_series: 'tenants' | 'queues' | 'tasks' | 'max_names';
    add_series:
      | 'tenants'
      | 'queues'
      | 'tasks'
      | 'created'
      | 'completed'
      | 'failed'
      | 'retried'
      | 'cancelled'
      | 'waits'
      | 'runs'
      | 'total_tenants'
      | 'total_created'
      | 'total_completed'
      | 'total_failed'
      | 'total_cancelled';
    ends_of_attempts: 'tenants' | 'ids' | 'numbers';
    forget_series: 'step' | 'keep_secs' | 'max_rows';
    forget_series_names: 'max_names';
    series_of: 'until' | 'since' | 'tenant' | 'task' | 'queue';
    ends_by_tenant: 'until' | 'since' | 'max_rows' | 'queue' | 'max_tenants';
  };
  'insight/workers.sql': {
    add_workers:
      'tenants' | 'workers' | 'queues' | 'ages_secs' | 'completed' | 'failed' | 'expired' | 'max_workers' | 'max_stale';
    workers_of: 'tenant' | 'max_rows' | 'max_workers' | 'max_jobs';
    queues_used: 'queues' | 'tenant';
    slots_in_use: 'max_rows' | 'workers' | 'queues';
  };
  'jobs/attempts.sql': {
    attempts_of_job: 'tenant' | 'id';
    run_now: 'tenant' | 'id';
    run_now_limited: 'tenant' | 'id';
    run_many_now: 'ids' | 'tenant';
    standing_of_job: 'tenant' | 'id';
    last_details: 'tenant' | 'id';
  };
  'jobs/dead-letters.sql': {
    dead_letter: 'id';
    dead_letter_groups:
      'tenant' | 'max_known' | 'since' | 'queue' | 'replayed' | 'task' | 'after_at' | 'after_id' | 'max_groups';
    dead_letter_groups_of: 'ids' | 'tenant' | 'since' | 'queue' | 'replayed';
    metadata_of_job: 'tenant' | 'id';
    replay: 'suffix' | 'id' | 'metadata';
  };
  'jobs/ends.sql': {
    course_of_tenant: 'tenant' | 'at_least_secs';
    follow_ends: 'secs' | 'tenant' | 'margin_secs';
    ends_between: 'tenant' | 'after_xid' | 'after_seq' | 'since' | 'upto' | 'max_rows';
    forget_ends: 'secs' | 'max_rows';
  };
  'jobs/enqueue.sql': {
    create_jobs:
      | 'tenants'
      | 'queues'
      | 'tasks'
      | 'priorities'
      | 'configs'
      | 'suffixes'
      | 'kinds'
      | 'run_ats'
      | 'payloads'
      | 'metadata'
      | 'sizes'
      | 'delays';
    create_varied:
      | 'tenants'
      | 'queues'
      | 'tasks'
      | 'priorities'
      | 'configs'
      | 'suffixes'
      | 'run_ats'
      | 'payloads'
      | 'metadata'
      | 'sizes'
      | 'delays';
    create_alike: 'suffixes' | 'payloads' | 'sizes' | 'priority' | 'tenant' | 'queue' | 'task' | 'config';
    create_keyed_jobs:
      | 'tenants'
      | 'queues'
      | 'tasks'
      | 'priorities'
      | 'configs'
      | 'suffixes'
      | 'kinds'
      | 'run_ats'
      | 'payloads'
      | 'metadata'
      | 'sizes'
      | 'delays'
      | 'keys'
      | 'digests';
    create_fresh_alike:
      'suffixes' | 'payloads' | 'sizes' | 'keys' | 'digests' | 'tenant' | 'priority' | 'queue' | 'task' | 'config';
    create_fresh_items:
      | 'tenants'
      | 'queues'
      | 'tasks'
      | 'priorities'
      | 'configs'
      | 'suffixes'
      | 'kinds'
      | 'run_ats'
      | 'payloads'
      | 'metadata'
      | 'sizes'
      | 'delays'
      | 'keys'
      | 'digests';
    create_fresh_alike_items:
      'suffixes' | 'payloads' | 'sizes' | 'keys' | 'digests' | 'tenant' | 'priority' | 'queue' | 'task' | 'config';
    create_keyed_items:
      | 'tenants'
      | 'queues'
      | 'tasks'
      | 'priorities'
      | 'configs'
      | 'suffixes'
      | 'kinds'
      | 'run_ats'
      | 'payloads'
      | 'metadata'
      | 'sizes'
      | 'delays'
      | 'keys'
      | 'digests';
    jobs_of_keys: 'tenants' | 'keys';
  };
  'jobs/events.sql': {
    watch: 'job_id' | 'stream' | 'secs';
    watched_job: 'id' | 'tenant';
    watched_state: 'id' | 'tenant';
    transitions_since: 'ids' | 'seen';
    transition: 'seq' | 'id' | 'tenant';
    states_of: 'tenants' | 'ids';
    progress_since: 'ids' | 'seen';
    unwatch: 'job_id' | 'stream';
  };
  'jobs/logs.sql': {
    append_logs:
      | 'ids'
      | 'tokens'
      | 'counts'
      | 'sizes'
      | 'jobs'
      | 'places'
      | 'offsets'
      | 'bytes'
      | 'ats'
      | 'levels'
      | 'messages'
      | 'fields'
      | 'attempt_bytes';
    log_of_job: 'tenant' | 'id' | 'attempt_bytes' | 'attempt';
    lines_of_job: 'id' | 'after_attempt' | 'after_seq' | 'attempt' | 'max_lines';
    log_news: 'tenants' | 'ids';
    expire_logs: 'after_id' | 'hours' | 'max_rows';
  };
  'jobs/maintenance.sql': {
    take_turn: 'loop' | 'period_secs';
    keep_turn: 'from_now_secs' | 'loop';
    signs: never;
    expired: 'max_leases';
    forget_streams: never;
    forget_bundles: never;
    forget_claim_marks: never;
    forget_progress: 'max_rows';
    forget_presence: 'max_queues';
  };
  'jobs/queue-depths.sql': {
    queue_depths: 'tenant' | 'after' | 'only' | 'limit';
  };
  'jobs/reads.sql': {
    job_of_tenant: 'tenant' | 'id';
    owner_of_job: 'id' | 'bucket';
    names_of_jobs: 'tenants' | 'ids';
    depths_of_all: 'named';
    count_dead_letters: never;
  };
  'jobs/reports.sql': {
    statuses_of: 'ids' | 'buckets';
    queues_of: 'ids' | 'buckets';
  };
  'jobs/retention.sql': {
    expire_jobs: 'hours' | 'after_tenant' | 'after_ending' | 'after_id' | 'max_rows';
    expire_dead_letters: 'hours' | 'after_tenant' | 'max_rows';
    expire_workflows: 'hours' | 'after_tenant' | 'after_ending' | 'after_id' | 'max_rows' | 'max_steps';
  };
  'jobs/waits.sql': {
    ends_of: 'tenants' | 'ids';
    ended_among: 'tenants' | 'ids';
    owned_among: 'ids' | 'buckets';
  };
  'jobs/why.sql': {
    circumstances_of_job: 'tenant' | 'id';
    count_ahead: 'max_jobs' | 'queue' | 'priority' | 'scheduled_at' | 'id';
  };
  'leases/bundles.sql': {
    unbundle: 'tenants' | 'ids' | 'tokens';
    extend_bundles: 'secs' | 'tokens';
    standing_bundles: 'tokens';
    move_marks: 'mark_tokens' | 'mark_reaches' | 'dropped_marks';
  };
  'leases/claim.sql': {
    claim_for_pool:
      | 'queue'
      | 'gate_held'
      | 'floor_priorities'
      | 'floor_instants'
      | 'later_floor'
      | 'max_jobs'
      | 'max_bytes'
      | 'startable'
      | 'bundle'
      | 'secs'
      | 'worker'
      | 'bundle_from'
      | 'known_contexts';
    claim_for_workers:
      | 'queue'
      | 'gate_held'
      | 'floor_priorities'
      | 'floor_instants'
      | 'later_floor'
      | 'max_jobs'
      | 'max_bytes'
      | 'secs'
      | 'tokens'
      | 'workers'
      | 'known_contexts';
    mark_started: 'tenants' | 'ids';
    next_due: 'queues';
    share_for_pool:
      | 'queue'
      | 'gate_held'
      | 'later_floor'
      | 'max_jobs'
      | 'max_lines'
      | 'at_a_time'
      | 'max_bytes'
      | 'startable'
      | 'bundle'
      | 'secs'
      | 'worker'
      | 'bundle_from'
      | 'known_contexts';
    share_for_workers:
      | 'queue'
      | 'gate_held'
      | 'later_floor'
      | 'max_jobs'
      | 'max_lines'
      | 'at_a_time'
      | 'max_bytes'
      | 'secs'
      | 'tokens'
      | 'workers'
      | 'known_contexts';
    peek: 'queue' | 'floor_priorities' | 'max_jobs' | 'floor_instants' | 'later_floor';
  };
  'leases/gates.sql': {
    hold_gate: 'queue' | 'patience_ms';
    gate_use: 'queue';
    keep_gate: 'tokens' | 'now' | 'waited' | 'queue';
    put_settings:
      'queue' | 'running' | 'count' | 'secs' | 'burst' | 'share' | 'sets_running' | 'sets_rate' | 'sets_share';
    drop_settings: 'queue';
    tell_settings: 'queue';
    claims_under_way: 'only';
    queue_settings: 'queue';
    limited_queues: 'max_queues';
  };
  'leases/leases.sql': {
    extend: 'ids' | 'tokens' | 'secs';
    extend_with_progress: 'ids' | 'tokens' | 'secs' | 'progress';
    standing: 'ids' | 'tokens';
    lease_facts: 'ids' | 'tokens';
  };
  'leases/pauses.sql': {
    pause_queue: 'at' | 'queue';
    note_pause: 'operator' | 'reason' | 'queue';
    pause_of: 'queue';
    resume_queue: 'queue';
  };
  'leases/shares.sql': {
    end_turns: 'queue';
    place_in_turn: 'max_jobs' | 'tenant' | 'id';
    dissolve_lines: 'queue' | 'max_jobs';
    sort_into_lines: 'queue' | 'max_priorities' | 'max_jobs';
  };
  'limits/admit.sql': {
    lock_limits: 'ids';
    restore_limits: 'ids' | 'tenants' | 'job_ids';
    drop_orphans: 'ids';
    read_lines: 'ids' | 'max_jobs' | 'step_secs';
    move_waiting:
      'tenants' | 'ids' | 'places' | 'lines' | 'limit_ids' | 'running' | 'mosts' | 'newest' | 'waiting' | 'looks';
    wake_sleepers: 'max_jobs' | 'after' | 'max_notes';
    count_in: 'after' | 'max_notes' | 'all';
    gather_returns: 'max_returns';
    drop_unused: 'after' | 'max_limits';
    keep_rates:
      | 'ids'
      | 'counts'
      | 'secs'
      | 'bursts'
      | 'tokens'
      | 'next_secs'
      | 'full_secs'
      | 'now'
      | 'token_limits'
      | 'token_jobs'
      | 'token_tenants';
    forget_tokens: 'ids';
  };
  'limits/create.sql': {
    take_keys: 'lasts' | 'tenants' | 'keys' | 'suffixes' | 'digests';
    take_limits: 'ids' | 'mosts' | 'counts';
    let_in: 'ids' | 'rooms';
    make_limits: 'ids' | 'tenants' | 'queues' | 'keys' | 'mosts';
    create_limited:
      | 'tenants'
      | 'queues'
      | 'tasks'
      | 'priorities'
      | 'configs'
      | 'suffixes'
      | 'run_ats'
      | 'payloads'
      | 'metadata'
      | 'sizes'
      | 'delays'
      | 'keys'
      | 'limits'
      | 'waits_for'
      | 'latest'
      | 'expire'
      | 'limit_ids'
      | 'running'
      | 'mosts'
      | 'waiting'
      | 'newest_suffixes'
      | 'noted_limits'
      | 'noted_suffixes'
      | 'noted_tenants';
  };
  'limits/mend.sql': {
    miscounted: 'after' | 'max_limits';
    recount: 'ids';
  };
  'limits/reads.sql': {
    place_in_line: 'max_jobs' | 'tenant' | 'id';
    limits_of_tenant: 'tenant' | 'only' | 'after_queue' | 'after_key' | 'limit' | 'max_jobs';
    limits_of_all: 'only' | 'after_tenant' | 'after_queue' | 'after_key' | 'limit' | 'max_jobs';
    waiting_for_room: 'max_jobs';
  };
  'limits/unique.sql': {
    take_unique: 'ids' | 'suffixes' | 'tenants';
    lock_unique: 'ids';
    states_of_unique: 'tenants' | 'job_ids';
    take_waiting: 'tenants' | 'job_ids';
    keep_unique: 'ids' | 'suffixes';
    remember_existing: 'tenants' | 'keys' | 'job_ids';
    drop_ended_unique: 'after' | 'max_keys';
  };
  'operations/batches.sql': {
    jobs_to_cancel: 'ids' | 'tenant';
    letters_to_replay: 'ids' | 'tenant' | 'keeps' | 'max_bytes';
    replay_letters: 'ids' | 'suffixes' | 'metadata' | 'tenant' | 'operation_id';
    jobs_to_rerun: 'ids' | 'tenant' | 'max_bytes';
    rerun_many: 'ids' | 'suffixes' | 'metadata' | 'tenant' | 'operation_id';
  };
  'operations/operations.sql': {
    create_operation:
      | 'before'
      | 'matched'
      | 'action'
      | 'exact'
      | 'suffix'
      | 'holder'
      | 'tenant'
      | 'filter'
      | 'scope'
      | 'ids'
      | 'keeps'
      | 'held_secs'
      | 'max_running';
    operation: 'id';
    operations: 'tenant' | 'after' | 'max_operations';
    stop_operation: 'id';
    fail_operation: 'id' | 'holder';
    adopt_operations: 'holder' | 'held_secs' | 'max_operations';
    keep_operations: 'held_secs' | 'ids' | 'holder';
    release_operations: 'holder';
    state_of_operation: 'id';
    lock_operation: 'id' | 'holder';
    advance_operation: 'place' | 'is_over' | 'ids' | 'changed' | 'looked_at' | 'replayed' | 'held_secs' | 'id';
    count_outcome: 'id' | 'every_secs' | 'max_jobs';
    forget_operations: 'hours';
    own_jobs: 'ids' | 'tenant';
    own_dead_letters: 'ids' | 'tenant';
    own_workflows: 'ids' | 'tenant';
  };
  'outcomes/expiry.sql': {
    expire_waiting: 'max_jobs' | 'error';
  };
  'outcomes/settle.sql': {
    settle:
      | 'ids'
      | 'tokens'
      | 'outcomes'
      | 'results'
      | 'errors'
      | 'reasons'
      | 'delays_secs'
      | 'only_expired'
      | 'attempts'
      | 'details'
      | 'workflows_locked';
    settle_limited:
      | 'ids'
      | 'tokens'
      | 'outcomes'
      | 'results'
      | 'errors'
      | 'reasons'
      | 'delays_secs'
      | 'only_expired'
      | 'attempts'
      | 'details'
      | 'workflows_locked';
    settle_completed: 'ids' | 'tokens' | 'results';
    settle_completed_limited: 'ids' | 'tokens' | 'results';
    settle_bundled:
      | 'bundle_tokens'
      | 'bundle_tenants'
      | 'masks'
      | 'are_last'
      | 'emptied_tokens'
      | 'mark_tokens'
      | 'mark_reaches'
      | 'dropped_marks'
      | 'member_bundles'
      | 'member_positions'
      | 'member_results';
    settle_bundled_limited:
      | 'bundle_tokens'
      | 'bundle_tenants'
      | 'masks'
      | 'are_last'
      | 'emptied_tokens'
      | 'mark_tokens'
      | 'mark_reaches'
      | 'dropped_marks'
      | 'member_bundles'
      | 'member_positions'
      | 'member_results'
      | 'left_bundles'
      | 'left_positions'
      | 'left_limits';
    cancel_waiting: 'tenants' | 'ids' | 'workflows_locked';
    cancel_waiting_limited: 'tenants' | 'ids' | 'workflows_locked';
  };
  'shared/audit.sql': {
    lock_audit: never;
    add_audit: 'at' | 'id' | 'action' | 'target' | 'operator' | 'request_id' | 'before' | 'after';
    add_read: 'id' | 'tenant' | 'operator' | 'request_id';
    trim_audit: 'max_entries';
    audit_page: 'before_at' | 'before_id' | 'max_entries';
  };
  'shared/contexts.sql': {
    contexts_of_steps: 'workflow_ids' | 'versions';
  };
  'shared/idempotency.sql': {
    take_key: 'tenant' | 'key' | 'kind' | 'life_secs' | 'digest';
    keep_answer: 'ids' | 'tenant' | 'key';
    answer_of_key: 'tenant' | 'key';
    forget_keys: 'max_keys';
  };
  'shared/presence.sql': {
    note_queues: 'queues' | 'ages_secs';
    note_offers: 'queues' | 'workers' | 'slots' | 'tasks' | 'ages_secs';
    offers_of: 'queue' | 'max_secs' | 'max_workers';
    offers_lately: 'max_secs' | 'max_workers';
    queue_marks: 'queues';
    register_process: 'id' | 'tasks';
    registered_tasks: 'max_tasks';
    clock: never;
  };
  'shared/tenants.sql': {
    register_tenant: 'tenant' | 'bucket';
  };
  'store/cells.sql': {
    cell_range: never;
    narrow_range: 'first_bucket' | 'last_bucket';
  };
  'store/doctor.sql': {
    job_is_in_one_table: never;
    state_has_its_job: never;
    failed_job_has_its_dead_letter: never;
    dead_letter_belongs_to_a_failed_job: never;
    retries_stay_within_budget: never;
    no_lease_is_long_overdue: never;
    id_agrees_with_its_row: never;
    tenant_belongs_here: never;
    key_leads_to_its_job: never;
    occurrence_has_one_job: never;
    workflow_is_in_one_table: never;
    ended_workflow_has_no_live_step: never;
    running_workflow_goes_on: never;
    waiting_step_can_be_told: never;
    step_has_its_context: never;
    context_has_its_workflow: never;
    earlier_job_was_set_aside: never;
    enabled_cron_has_a_next_run: never;
    limit_counts_what_holds_room: never;
    waiting_job_waits_for_room: never;
    waiting_job_has_a_turn: never;
    waiting_job_is_in_a_line: never;
    sleeping_job_is_woken: never;
    limit_is_looked_at: never;
    note_is_about_a_limit: never;
    token_belongs_to_a_limit: never;
  };
  'store/handover.sql': {
    cell_row: never;
    copy_lag: 'written';
    written_log: never;
    promote: 'wait_secs';
    close_cell: 'handover' | 'keeps' | 'gives';
    end_sessions: never;
    take_part: 'handover' | 'part';
    open_cell: 'handover';
    reopen_cell: 'handover';
    tables_of_cell: never;
    prune_pages: 'tab' | 'first_page' | 'pages';
    end_pruning: 'handover';
    cell_counts: 'most';
    has_tenants: never;
  };
  'store/migrations.sql': {
    take_migration_lock: 'lock';
    migrations_known: never;
    applied_version: never;
    record_migration: 'version' | 'name' | 'oldest';
    record_early_migration: 'version' | 'name';
    database_known: 'name';
  };
  'store/notifications.sql': {
    notify: 'message';
  };
  'workflows/reads.sql': {
    workflow_of_tenant: 'tenant' | 'id';
    owner_of_workflow: 'id' | 'bucket';
    workflow_and_jobs: 'id' | 'tenant';
    workflow_and_all: 'id' | 'tenant';
    marks_of: 'tenants' | 'ids';
  };
  'workflows/resume.sql': {
    lock_end: 'tenant' | 'id';
    last_resume: 'id';
    steps_of_resume: 'workflow_id' | 'id';
    start_of_workflow: 'id' | 'step';
    kept_results: 'steps' | 'workflow_id';
    set_aside: 'steps' | 'workflow_id';
    first_context: 'id';
  };
  'workflows/runs.sql': {
    create_workflows:
      | 'suffixes'
      | 'tenants'
      | 'names'
      | 'definitions'
      | 'contexts'
      | 'metadata'
      | 'states'
      | 'versions'
      | 'context_bytes'
      | 'rules'
      | 'job_workflows'
      | 'job_suffixes'
      | 'job_queues'
      | 'job_tasks'
      | 'job_priorities'
      | 'job_payloads'
      | 'job_configs'
      | 'job_metadata'
      | 'job_steps'
      | 'job_contexts'
      | 'job_context_bytes'
      | 'job_limits';
    lock_runs_of_leases: 'ids' | 'tokens';
    lock_run: 'tenant' | 'id';
    contexts_of: 'tenants' | 'ids';
    definitions_of: 'tenants' | 'ids';
    results_of_steps: 'workflow_ids' | 'steps';
    advance_runs:
      | 'tenants'
      | 'ids'
      | 'states'
      | 'contexts'
      | 'unmerged'
      | 'endings'
      | 'versions'
      | 'context_bytes'
      | 'job_suffixes'
      | 'job_tenants'
      | 'job_workflow_ids'
      | 'job_queues'
      | 'job_tasks'
      | 'job_priorities'
      | 'job_payloads'
      | 'job_configs'
      | 'job_metadata'
      | 'job_steps'
      | 'job_contexts'
      | 'job_context_bytes'
      | 'job_limits';
    resume_run:
      | 'tenant'
      | 'status'
      | 'id'
      | 'state'
      | 'version'
      | 'context'
      | 'last_version'
      | 'context_bytes'
      | 'run'
      | 'start'
      | 'start_context'
      | 'suffix'
      | 'steps'
      | 'job_suffixes'
      | 'job_queues'
      | 'job_tasks'
      | 'job_priorities'
      | 'job_payloads'
      | 'job_configs'
      | 'job_metadata'
      | 'job_steps'
      | 'job_contexts'
      | 'job_context_bytes'
      | 'job_limits'
      | 'first_suffix'
      | 'earlier_jobs';
    jobs_of_steps: 'workflow_id' | 'steps';
  };
  'workflows/waits.sql': {
    declare_rules: 'rules';
    lock_signals: 'signals';
    open_waits: 'tenants' | 'workflow_ids' | 'steps' | 'signals' | 'keys' | 'asks' | 'secs';
  };
}
