-- Sets the time limit of a job that says what it trains and gives no limit:
--     sbatch --comment 'perfmodel:graph=resnet50@224,gpu=A100,batch=128,dtype=amp,steps=450000' train.sh
-- Goes into the folder of slurm.conf, with JobSubmitPlugins=lua there. The
-- script that asks the database is time_limit.sh beside this file. Where the
-- comment names no gpu_count, it is the number of GPUs that the job asks for.
local ASK = os.getenv("PERFMODEL_TIME_LIMIT") or "/etc/slurm/time_limit.sh"
local NO_LIMIT = 0xfffffffe -- NO_VAL: the user has given none

-- A word for the shell, whatever is in it.
local function quoted(word)
    return "'" .. word:gsub("'", "'\\''") .. "'"
end

-- A number of the job; nil where the user has given none.
local function given(number)
    number = tonumber(number)
    return number ~= nil and number > 0 and number < 0xfffffff0 and number or nil
end

-- GPUs in a list such as "gres:gpu:a100:4,license:x", "gres/gpu=2" or "gpu"; nil: there are none.
local function gpus_in(list)
    local sum
    for item in (list or ""):gmatch("[^,]+") do
        item = item:gsub("^gres[:/]", "")
        if item:match("^gpu$") or item:match("^gpu[:=]") then
            sum = (sum or 0) + (tonumber(item:match("[:=](%d+)$")) or 1)
        end
    end
    return sum
end

-- GPUs of the job, as far as it is known before it has a place. Where it does not
-- say on how many nodes it runs, GPUs of a node are those of one node.
local function gpus_of(job, nodes)
    local of_node, of_task = gpus_in(job.tres_per_node or job.gres), gpus_in(job.tres_per_task)
    if gpus_in(job.tres_per_job) then
        return gpus_in(job.tres_per_job)
    elseif of_node then
        return of_node * (nodes or 1)
    elseif of_task then
        local tasks_of_node = given(job.ntasks_per_node)
        return of_task * (given(job.num_tasks) or (tasks_of_node or 1) * (nodes or 1))
    end
end

-- What the job says of its GPUs, behind a question that does not.
local function with_gpus(question, job)
    local words = "," .. question:gsub("%s", "")
    if words:match(",gpu_count=") or words:match(",world_size=") then
        return question, ""
    end
    local nodes = given(job.min_nodes)
    local gpus = gpus_of(job, nodes)
    if gpus == nil or gpus < 2 then
        return question, ""
    end
    local several = nodes ~= nil and nodes > 1 and nodes <= gpus and not words:match(",nodes=")
    return question .. ",gpu_count=" .. string.format("%d", gpus) .. (several and string.format(",nodes=%d", nodes) or ""),
        string.format(" (on %d GPUs%s)", gpus, several and string.format(" of %d nodes", nodes) or "")
end

function slurm_job_submit(job, partitions, user)
    local question = (job.comment or ""):match("^perfmodel:(.+)$")
    if question == nil or (job.time_limit ~= nil and job.time_limit ~= NO_LIMIT) then
        return slurm.SUCCESS
    end
    local asked, on = with_gpus(question, job)
    -- slurmctld waits for this
    local pipe = io.popen("timeout 5 sh " .. quoted(ASK) .. " " .. quoted(asked) .. " 2>&1")
    local answer = pipe and pipe:read("*l")
    if pipe then pipe:close() end
    local minutes = answer and tonumber(answer:match("^%d+$"))
    if minutes then
        job.time_limit = minutes
        slurm.log_user("perfmodel: time limit %d minutes; 9 of 10 such jobs need less%s", minutes, on)
    else
        slurm.log_user("perfmodel: no time limit is set: %s", answer or "no answer")
    end
    return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, user)
    return slurm.SUCCESS
end
